/** A small cache: entries expire, and the oldest are dropped when it is full. */
export class ExpiringCache<V> {
  readonly #entries = new Map<string, { value: V; until: number }>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: string, nowMs: number): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > nowMs) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V, untilMs: number): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#max) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
    this.#entries.set(key, { value, until: untilMs });
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
