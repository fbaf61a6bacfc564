/** Returns the text of each generated file, by its path in the extension's folder. */
export function generated(schema: unknown, manifest: unknown): Promise<Record<string, string>>;
