/** Runs something at most once a frame, however often it is asked for. */
export const FRAME_MS = 16;

export class OncePerFrame {
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly run: () => void) {}

  request(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.run();
    }, FRAME_MS);
  }

  /** Runs it at once if it waits to be run. */
  flush(): void {
    if (this.timer === undefined) return;
    this.dispose();
    this.run();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
