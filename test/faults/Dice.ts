/** The seed of this run. TEST_SEED repeats the choices of an earlier run, but not its timing. */
export const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31)

/** Random choices that depend only on the seed and a name (mulberry32 over an FNV-1a hash of both). */
export class Dice {
  private state: number

  constructor(name: string) {
    this.state = Array.from(`${seed} ${name}`).reduce(
      (hash, character) => Math.imul(hash ^ character.charCodeAt(0), 0x01000193),
      0x811c9dc5
    )
  }

  /** A random number from 0 up to, but not including, 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A random whole number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  pick<A>(items: ReadonlyArray<A>): A {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error("nothing to pick from")
    return item
  }

  shuffle<A>(items: ReadonlyArray<A>): ReadonlyArray<A> {
    return items
      .map((item) => ({ item, place: this.next() }))
      .sort((left, right) => left.place - right.place)
      .map(({ item }) => item)
  }

  /** Up to `count` of the items, in random order. */
  some<A>(items: ReadonlyArray<A>, count: number): ReadonlyArray<A> {
    return this.shuffle(items).slice(0, 1 + this.below(count))
  }
}

/** Prints the counts of a run, with the seed that repeats its choices. */
export const report = (name: string, result: unknown): void => {
  console.info(`${name} (TEST_SEED=${seed}): ${JSON.stringify(result)}`)
}
