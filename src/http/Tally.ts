/** Counts by key. A key whose count is 0 takes no memory. */
export class Tally<Key> {
  private readonly counts = new Map<Key, number>()

  of(key: Key): number {
    return this.counts.get(key) ?? 0
  }

  add(key: Key, count: number): void {
    const sum = this.of(key) + count
    if (sum === 0) this.counts.delete(key)
    else this.counts.set(key, sum)
  }
}
