/** Whether the adapter speaks the protocol that this extension was built for. */
import { PROTOCOL_VERSION } from "../wire/generated";

/** Returns a sentence that says which side to upgrade; nothing if the two agree. */
export function protocolMismatch(version: string, protocolVersion: number): string | undefined {
  if (protocolVersion === PROTOCOL_VERSION) return undefined;
  const cause = `This extension does not fit the adapter of ZenTracer ${version}.`;
  return protocolVersion < PROTOCOL_VERSION
    ? `${cause} Upgrade the adapter: pip install --upgrade zentracer`
    : `${cause} Update the extension.`;
}
