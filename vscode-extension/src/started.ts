/** When the extension began to load; imported before everything else. */
export const started = performance.now();
