import { LRUCache } from "lru-cache"
import type { AccountId } from "../domain/Ids.ts"

/** The body of a 200, and the account's version that was read before it. */
export interface RememberedAnswer {
  readonly version: number
  readonly text: string
  readonly etag: string
  readonly contentType: string
  readonly contentLength: string
}

/** In characters: with their keys, some tens of megabytes of memory. */
const mostCharacters = 16_000_000
/** A longer answer would push out many. */
const longestAnswer = 500_000

/**
 * Answers of this process that are still true as long as the account's version is the one they were read at: every visible
 * change raises it (docs/architecture.md), nothing else is in them, and it never comes back. An answer may be newer than
 * its version, never older. Whoever asks must have been authorized before.
 */
export class AnswerCache {
  private readonly answers = new LRUCache<string, RememberedAnswer>({
    maxSize: mostCharacters,
    maxEntrySize: longestAnswer,
    sizeCalculation: ({ text }, key) => text.length + key.length
  })

  find(accountId: AccountId, target: string, version: number): RememberedAnswer | undefined {
    const answer = this.answers.get(`${accountId} ${target}`)
    return answer?.version === version ? answer : undefined
  }

  remember(accountId: AccountId, target: string, answer: RememberedAnswer): void {
    this.answers.set(`${accountId} ${target}`, answer)
  }
}
