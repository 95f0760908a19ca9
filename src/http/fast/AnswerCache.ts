import { LRUCache } from "lru-cache"
import type { AccountId } from "../../model/Ids.ts"
import type { KnownAnswer } from "./KnownAnswer.ts"

/** Of all answers and their targets. */
const maxBytes = 16_000_000
/** A longer answer would push out many. */
const maxAnswerBytes = 500_000

/**
 * Answers of this process that are still true as long as the account's version is the one they were read at: every visible
 * change raises it (docs/writing.md), nothing else is in them, and it never comes back. An answer may be newer than
 * its version, never older. Whoever asks must have been authorized before.
 */
export class AnswerCache {
  private readonly answers = new LRUCache<string, KnownAnswer>({
    maxSize: maxBytes,
    maxEntrySize: maxAnswerBytes,
    sizeCalculation: ({ body }, key) => body.length + key.length
  })

  /** Hashes of targets that were asked for lately, by place: a power of two of them, without an allocation a request. */
  private readonly asked = new Int32Array(4_096)

  find(accountId: AccountId, target: string, version: number): KnownAnswer | undefined {
    const answer = this.answers.get(`${accountId} ${target}`)
    return answer?.version === version ? answer : undefined
  }

  /** Keeps an answer to a target that was asked for before: a walk would push out what is asked for again and again. */
  remember(accountId: AccountId, target: string, answer: KnownAnswer): void {
    const key = `${accountId} ${target}`
    const hash = hashOf(key)
    const place = hash & (this.asked.length - 1)
    if (this.asked[place] === hash) this.answers.set(key, answer)
    else this.asked[place] = hash
  }
}

/** FNV-1a, 32 bits: who collides is remembered one time too early. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash | 0
}
