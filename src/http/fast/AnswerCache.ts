import { LRUCache } from "lru-cache"
import type { AccountId } from "../../model/Ids.ts"
import type { KnownAnswer } from "./KnownAnswer.ts"

/** Maximum bytes of all cached answers and their keys. */
const maxBytes = 16_000_000
/** Maximum bytes of one answer. A longer one would evict many others. */
const maxAnswerBytes = 500_000

/**
 * Caches answers in this process. An answer is valid while the account's version equals the answer's version: every visible
 * change raises the version (docs/writing.md), a version never returns, and cached answers hold nothing that can change without
 * it. An answer may be newer than its version, never older. Callers must authorize the request first.
 *
 * On a cluster, reading a version costs a statement, so it is read only for targets with a cached answer. An answer whose version was
 * not read is valid for no request, but the next answer for its target is cached with its version.
 */
export class AnswerCache {
  private readonly answers = new LRUCache<string, KnownAnswer>({
    maxSize: maxBytes,
    maxEntrySize: maxAnswerBytes,
    sizeCalculation: ({ body, compressed: { br, gzip } }, key) =>
      body.length + (br?.length ?? 0) + (gzip?.length ?? 0) + key.length
  })

  /** Hashes of recently requested keys. An array of fixed size (a power of two), so that a request allocates nothing. */
  private readonly requestedHashes = new Int32Array(4_096)

  /** Whether an answer for the target is cached, of any version. Only then does a request need the account's version. */
  has(accountId: AccountId, target: string): boolean {
    return this.answers.has(`${accountId} ${target}`)
  }

  find(accountId: AccountId, target: string, version: number): KnownAnswer | undefined {
    const answer = this.answers.get(`${accountId} ${target}`)
    return answer?.version === version ? answer : undefined
  }

  /** Caches an answer from the second request for its target on. Otherwise a walk through a list would evict frequent targets. */
  remember(accountId: AccountId, target: string, answer: KnownAnswer): void {
    const key = `${accountId} ${target}`
    const hash = hashOf(key)
    const slot = hash & (this.requestedHashes.length - 1)
    if (this.requestedHashes[slot] === hash) this.answers.set(key, answer)
    else this.requestedHashes[slot] = hash
  }

  /** Replaces an answer by one with another coding of its body, if it is still cached. */
  replace(accountId: AccountId, target: string, answer: KnownAnswer, coded: KnownAnswer): void {
    const key = `${accountId} ${target}`
    if (this.answers.peek(key) === answer) this.answers.set(key, coded)
  }
}

/** FNV-1a, 32 bits. After a collision, an answer is cached at its first request, which does no harm. */
const hashOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash | 0
}
