/** Waiting for what must become true; nothing here waits for time to pass. */

/** Milliseconds after which a wait is called a hang. */
export const HANG_GUARD = Number(process.env["ZENTRACER_TEST_HANG_GUARD"] ?? "60") * 1000;

/** Looks until `look` finds something, and returns it. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
): Promise<T> {
  const start = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() - start > HANG_GUARD) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
