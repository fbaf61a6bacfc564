/** Which queries a Tensor panel still waits for. */
export class PanelQueries {
  private waiting = new Set<number>();

  /** Notes a query; returns a test, true once, of whether its answer is still wanted. */
  begin(id: number): () => boolean {
    const { waiting } = this;
    waiting.add(id);
    return () => waiting.delete(id);
  }

  cancel(id: number): void {
    this.waiting.delete(id);
  }

  /** A page that was loaded again numbers its queries afresh, and wants none of the old answers. */
  reset(): void {
    this.waiting.clear();
    this.waiting = new Set();
  }
}
