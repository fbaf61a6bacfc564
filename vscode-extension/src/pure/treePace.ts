/** Runs something at once, and then at most once in a while, however often it is asked for. */
export class Pace {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isAskedFor = false;

  constructor(
    private readonly gapMs: number,
    private readonly run: () => void,
  ) {}

  request(): void {
    if (this.timer !== undefined) {
      this.isAskedFor = true;
      return;
    }
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (!this.isAskedFor) return;
      this.isAskedFor = false;
      this.request();
    }, this.gapMs);
    this.run();
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
