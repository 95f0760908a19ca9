import { hash } from "node:crypto"

/**
 * Numbers by text, without the texts: an entry takes 16 to 32 bytes, whatever its text. It keeps the first 64 bits of the SHA-256 of each
 * text. Among 10,000,000 texts, the probability that two have the same bits is 1 in 370,000.
 */
export class DigestMap {
  /** A power of two. At least a quarter of the places are empty. */
  private capacity = 1_024
  private digests = new BigUint64Array(this.capacity)
  /** 0: the place is empty. */
  private numbers = new Uint32Array(this.capacity)
  private size = 0

  get(text: string): number | undefined {
    return this.numbers[this.placeOf(digestOf(text))] || undefined
  }

  /** `number`: 1 to 4,294,967,295. */
  set(text: string, number: number): void {
    if (4 * this.size >= 3 * this.capacity) this.grow()
    this.put(digestOf(text), number)
  }

  /** The place of a digest, or the empty place that it would get. */
  private placeOf(digest: bigint): number {
    const last = this.capacity - 1
    let place = Number(BigInt.asUintN(32, digest)) & last
    while (this.numbers[place] !== 0 && this.digests[place] !== digest) place = (place + 1) & last
    return place
  }

  private put(digest: bigint, number: number): void {
    const place = this.placeOf(digest)
    if (this.numbers[place] === 0) this.size++
    this.digests[place] = digest
    this.numbers[place] = number
  }

  private grow(): void {
    const { digests, numbers } = this
    this.capacity *= 2
    this.digests = new BigUint64Array(this.capacity)
    this.numbers = new Uint32Array(this.capacity)
    this.size = 0
    for (let place = 0; place < numbers.length; place++) {
      const number = numbers[place]
      const digest = digests[place]
      if (number !== undefined && number !== 0 && digest !== undefined) this.put(digest, number)
    }
  }
}

const digestOf = (text: string): bigint => hash("sha256", text, "buffer").readBigUInt64LE(0)
