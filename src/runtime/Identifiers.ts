import { createHash, randomUUID } from "node:crypto"
import { Context, Effect, type Schema } from "effect"

/** The source of new ids: random UUIDs, or repeatable ids in tests. */
export class UuidSource extends Context.Reference<UuidSource>()("catalog/UuidSource", {
  defaultValue: (): (() => string) => randomUUID
}) {}

/** A new random id. */
export const mintId = <A>(id: Schema.Schema<A, string> & { readonly make: (value: string) => A }): Effect.Effect<A> =>
  Effect.map(UuidSource, (next) => id.make(next()))

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
