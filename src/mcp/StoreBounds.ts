import { randomUUID } from "node:crypto"
import { Effect, Schema } from "effect"
import { ConnectionsRepo } from "../connections/ConnectionsRepo.ts"
import { NotFound } from "../model/Errors.ts"
import type { AccountId, StoreId } from "../model/Ids.ts"
import { PublishStatus, rollUp } from "../model/PublishState.ts"
import { MarketStatus } from "../platform/Market.ts"
import { isObject } from "./Vocabulary.ts"

/**
 * A call by a connection that is limited to some stores. Other stores, and masters that are only on other stores, are hidden
 * from it. In the arguments, a random id replaces each hidden id, so that the tool answers as for any unknown id. Parts of the
 * answer with a hidden id are removed. The ids are found by their form, so that tools and members added later are covered.
 */
export interface BoundedCall {
  /** The arguments, with random ids in place of hidden ids. */
  readonly args: unknown
  /** Removes the hidden parts of the answer. NotFound: the whole answer is hidden. */
  readonly cut: (
    answer: Readonly<Record<string, unknown>>
  ) => Effect.Effect<Readonly<Record<string, unknown>>, NotFound>
  /** Removes hidden ids that the caller did not send from the text of a refusal. */
  readonly conceal: (text: string) => Effect.Effect<string>
  /** Puts the ids that the caller sent back into a text of the answer. */
  readonly restore: (text: string) => string
}

const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const uuid = new RegExp(`^${uuids.source}$`)

/** Arguments that hold ids of stores and masters. Values of attributes may look like ids, but are never replaced. */
const idArguments = /(?:^|_)(?:channel|master|collection)_ids?$/

/** Members that list the stores of a record, or the changes of a drop. If all items of such a list are hidden, so is the record. */
const listsOfStores = new Set(["channels", "channel_ids", "changes"])

/** The member of a row that says in a sentence why it was refused, which may name other masters. */
const isMessage = (name: string) => name === "message"

/** All UUIDs in a value, in lower case, because arguments may have them in upper case; also those inside of messages. `name`: of the member. */
const uuidsIn = (value: unknown, found: Set<string> = new Set(), name = ""): Set<string> => {
  if (typeof value === "string") {
    const lower = value.length === 36 ? value.toLowerCase() : ""
    if (uuid.test(lower)) found.add(lower)
    else if (isMessage(name)) for (const id of value.match(uuids) ?? []) found.add(id)
  } else if (Array.isArray(value)) for (const item of value) uuidsIn(item, found, name)
  else if (isObject(value)) for (const [member, item] of Object.entries(value)) uuidsIn(item, found, member)
  return found
}

const concealIds = (absent: ReadonlySet<string>, text: string) =>
  text.replace(uuids, (id) => (absent.has(id) ? "(hidden from this connection)" : id))

const isIn = (absent: ReadonlySet<string>, value: unknown) =>
  typeof value === "string" && absent.has(value.toLowerCase())

/** Replaces ids of stores and masters in the arguments, at any depth. `substituteOf`: undefined for ids that are kept. */
const replaceIds = (value: unknown, substituteOf: (id: string) => string | undefined, isId: boolean): unknown => {
  if (typeof value === "string") return (isId ? substituteOf(value) : undefined) ?? value
  if (Array.isArray(value)) return value.map((item) => replaceIds(item, substituteOf, isId))
  return isObject(value)
    ? // fromEntries, because an assignment to a member named `__proto__` would set the prototype.
      Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, replaceIds(member, substituteOf, idArguments.test(name))])
      )
    : value
}

const gone = Symbol("gone")

/** Members that hold ids. Other texts of the catalog may look like ids, but are never removed. */
const idMembers = /(?:^|_)ids?$/

/** Removes the hidden parts of a value. Returns `gone` if all of it is hidden. `name`: the member that holds the value. */
const removeHidden = (absent: ReadonlySet<string>, value: unknown, name = ""): unknown => {
  if (Array.isArray(value)) return value.map((item) => removeHidden(absent, item, name)).filter((item) => item !== gone)
  if (typeof value === "string" && isMessage(name)) return concealIds(absent, value)
  if (!isObject(value)) return idMembers.test(name) && isIn(absent, value) ? gone : value
  const members: Array<readonly [string, unknown]> = []
  for (const [name, member] of Object.entries(value)) {
    const left = removeHidden(absent, member, name)
    if (left === gone) return gone
    if (
      listsOfStores.has(name) &&
      Array.isArray(member) &&
      Array.isArray(left) &&
      member.length > 0 &&
      left.length === 0
    )
      return gone
    members.push([name, left])
  }
  const left = Object.fromEntries(members)
  return { ...left, ...summedUp(left) }
}

const isPending = Schema.is(Schema.Struct({ pending_publish: Schema.Boolean }))
const isPublishState = Schema.is(Schema.Struct({ pending_publish: Schema.Boolean, last_publish_status: PublishStatus }))
const isMarketOnStore = Schema.is(
  Schema.Struct({ name: Schema.String, status: MarketStatus, web_presences: Schema.Unknown })
)

/** Members that summarize a record's channels (publish state, or a market's name and status), from the visible channels. */
const summedUp = (record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  const { channels } = record
  if (!Array.isArray(channels)) return {}
  if (isPublishState(record) && channels.every(isPublishState)) {
    const { lastPublishStatus, pendingPublish } = rollUp(
      channels.map(({ last_publish_status, pending_publish }) => ({
        lastPublishStatus: last_publish_status,
        pendingPublish: pending_publish
      }))
    )
    return { pending_publish: pendingPublish, last_publish_status: lastPublishStatus }
  }
  if (isPending(record) && channels.every(isPending))
    return { pending_publish: channels.some(({ pending_publish }) => pending_publish) }
  const [first] = channels
  return isMarketOnStore(first) && channels.every(isMarketOnStore)
    ? { name: first.name, status: channels.some(({ status }) => status === "active") ? "active" : "draft" }
    : {}
}

/** Prepares calls of connections that are limited to these stores. */
export const makeStoreBounds = Effect.map(
  ConnectionsRepo,
  ({ outside }) =>
    (accountId: AccountId, stores: ReadonlyArray<StoreId>, args: unknown): Effect.Effect<BoundedCall> =>
      Effect.gen(function* () {
        const sentIds = uuidsIn(args)
        const absent = yield* outside(accountId, stores, [...sentIds])
        // All occurrences of an id get the same substitute. Otherwise a hidden id that is given twice would not be refused as a duplicate, as an
        // unknown one is. It is restored in lower case, as answers have ids.
        const substitutes = new Map<string, string>([...absent].map((id) => [id, randomUUID()]))
        const idOfSubstitute = new Map(Array.from(substitutes, ([id, substitute]) => [substitute, id]))
        const substituteOf = (id: string) => substitutes.get(id.toLowerCase())
        return {
          args: replaceIds(args, substituteOf, false),
          cut: (answer) =>
            Effect.gen(function* () {
              const left = removeHidden(yield* outside(accountId, stores, [...uuidsIn(answer)]), answer)
              return isObject(left) ? left : yield* new NotFound()
            }),
          conceal: (text) =>
            Effect.map(outside(accountId, stores, text.match(uuids) ?? []), (hidden) =>
              concealIds(new Set([...hidden].filter((id) => !sentIds.has(id))), text)
            ),
          restore: (text) => text.replace(uuids, (id) => idOfSubstitute.get(id) ?? id)
        }
      })
)
