import { createHash, randomUUID } from "node:crypto"
import { Context, Effect, type Schema } from "effect"

/** The source of new ids: random UUIDs, or repeatable ids in tests. */
export class UuidSource extends Context.Reference<UuidSource>()("catalog/UuidSource", {
  defaultValue: (): (() => string) => randomUUID
}) {}

/** A new random id. */
export const mintId = <A>(id: Schema.Schema<A, string> & { readonly make: (value: string) => A }): Effect.Effect<A> =>
  Effect.map(UuidSource, (next) => id.make(next()))

/** How many ids in a row begin with the same 48 bits. */
const idsOfRun = 64

/** The text of the first 48 bits of a UUID. */
const beginningOf = (uuid: string) => uuid.slice(0, 13)

/**
 * Source of the ids of many new entities, from a source of random UUIDs. 64 in a row begin with the same 48 bits, so entities that are
 * created together lie together in tables and in indexes by id: a read in the order of ids visits each page of the table about once.
 * Runs have no order, so the first entities by id are a sample of all, old and new. 74 random bits of each id are its own.
 */
export const inRuns = (next: () => string): (() => string) => {
  let run = ""
  let left = 0
  return () => {
    const uuid = next()
    if (left === 0) {
      run = beginningOf(uuid)
      left = idsOfRun
    }
    left -= 1
    return run + uuid.slice(run.length)
  }
}

/** A name-based UUID (RFC 9562, version 5): the same namespace and name always give the same UUID. */
export const uuidOf = (namespace: string, name: string): string => {
  const hash = createHash("sha1")
    .update(Buffer.from(namespace.replaceAll("-", ""), "hex"))
    .update(name)
    .digest()
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | 0x50, 6)
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | 0x80, 8)
  return hash.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}
