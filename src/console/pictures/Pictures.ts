import { hash } from "node:crypto"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Context, Effect, Layer, Option, Runtime } from "effect"
import { LRUCache } from "lru-cache"
import { CatalogRepo } from "../../catalog/CatalogRepo.ts"
import { RateLimitSemaphores, withinShare } from "../../database/RateLimitSemaphores.ts"
import type { AccountId } from "../../model/Ids.ts"
import { PlatformRegistry } from "../../platform/PlatformRegistry.ts"
import { temporaryFolder } from "../../runtime/TemporaryFolder.ts"
import { makePictureAddress, type PictureAddress, readPictureAddress, type SignedPicture } from "./PictureAddresses.ts"
import { fetchPicture, imageTypeOf, type Picture, PictureUnread } from "./PictureFetch.ts"

/** Draws pictures that no host serves, as SVG. The demo provides one for its shops; by default there is none. */
export class DrawnPictures extends Context.Reference<DrawnPictures>()("catalog/DrawnPictures", {
  defaultValue:
    () =>
    (_: URL): string | undefined =>
      undefined
}) {}

/** Maximum bytes of the pictures on disk. The ones that were not used for longest are deleted. */
const maxDiskBytes = 256 * 1_048_576
/** Maximum number of pictures that are fetched from hosts at the same time. */
const maxFetches = 8
/**
 * Maximum number of pictures that are fetched at the same time for one account. Pictures are fetched in the order of their requests, so
 * slow hosts of one account delay the pictures of others by a few fetches at most.
 */
const maxFetchesOfAccount = maxFetches / 2
/** Maximum number of pictures of one account that wait for one of its fetches. */
const maxWaitingOfAccount = 256
/** Delay before a picture that could not be read is fetched again. */
const unreadMillis = 5 * 60_000

/** The address to fetch: of a smaller copy, if the picture's platform makes one. Twice the width, for dense screens. */
const sourceOf = ({ all }: PlatformRegistry["Type"], { url, width }: SignedPicture): string => {
  if (!URL.canParse(url)) return url
  for (const { smallerPicture } of all) {
    const smaller = smallerPicture(new URL(url), width * 2)
    if (smaller !== undefined) return smaller.href
  }
  return url
}

/** Pictures of media, fetched for the pages and kept on disk while the process runs. */
export class Pictures extends Context.Tag("catalog/Pictures")<
  Pictures,
  {
    /** Makes addresses for the pages of an account, whose share of the fetches they use. */
    readonly addressesFor: (accountId: AccountId) => PictureAddress
    /** The picture of a signed address. NoSuchPicture: the address is not signed by this service. None: it cannot be read. */
    readonly read: (path: string) => Effect.Effect<Option.Option<Picture>, "NoSuchPicture">
  }
>() {
  static readonly layer = Layer.scoped(
    Pictures,
    Effect.gen(function* () {
      const key = yield* (yield* CatalogRepo).cursorKey
      const draw = yield* DrawnPictures
      const platforms = yield* PlatformRegistry
      const permits = yield* Effect.makeSemaphore(maxFetches)
      const shares = new RateLimitSemaphores({
        perAccount: maxFetchesOfAccount,
        perCredential: maxFetchesOfAccount,
        queue: maxWaitingOfAccount
      })
      const folder = yield* temporaryFolder("catalog-pictures-")
      const pathOf = (name: string) => join(folder, name)
      const onDisk = new LRUCache<string, true>({
        maxSize: maxDiskBytes,
        dispose: (_, name) => void rm(pathOf(name), { force: true }).catch(() => {})
      })
      const unread = new LRUCache<string, true>({ max: 10_000, ttl: unreadMillis })
      /** Pages of an account ask for the same picture at once: it is fetched once. */
      const fetching = new Map<string, Promise<Option.Option<Picture>>>()

      const readFromDisk = (name: string) =>
        Effect.promise(async () => {
          if (onDisk.get(name) === undefined) return Option.none<Picture>()
          const bytes = await readFile(pathOf(name)).catch(() => undefined)
          const type = bytes === undefined ? undefined : imageTypeOf(bytes)
          return bytes === undefined || type === undefined ? Option.none() : Option.some({ bytes, type })
        })
      const keep = (name: string, { bytes }: Picture) =>
        Effect.promise(async () => {
          // If the disk is full, the picture is fetched again next time.
          const isWritten = await writeFile(pathOf(name), bytes).then(
            () => true,
            () => false
          )
          if (isWritten) onDisk.set(name, true, { size: Math.max(1, bytes.length) })
        })
      const fetchOnce = (accountId: AccountId, name: string, source: string) =>
        fetchPicture(source).pipe(
          permits.withPermits(1),
          Effect.tap((picture) => keep(name, picture)),
          Effect.tapErrorTag("PictureUnread", () => Effect.sync(() => unread.set(name, true))),
          withinShare(
            shares,
            { accountId, credentialId: undefined },
            () => new PictureUnread({ why: "too many pictures of its account wait" })
          ),
          Effect.asSome,
          Effect.catchTag("PictureUnread", ({ why }) =>
            Effect.as(
              Effect.annotateLogs(Effect.logDebug(`A picture was not read: ${why}`), { source }),
              Option.none<Picture>()
            )
          )
        )

      return {
        addressesFor: (accountId) => makePictureAddress(key, accountId),
        read: Effect.fn("Pictures.read")(function* (path) {
          const signed = readPictureAddress(key, path)
          if (signed === undefined) return yield* Effect.fail("NoSuchPicture" as const)
          const svg = URL.canParse(signed.url) ? draw(new URL(signed.url)) : undefined
          if (svg !== undefined) return Option.some({ bytes: Buffer.from(svg), type: "image/svg+xml" })
          const source = sourceOf(platforms, signed)
          const name = hash("sha256", source, "hex")
          const found = yield* readFromDisk(name)
          if (Option.isSome(found)) return found
          if (unread.has(name)) return Option.none()
          const runtime = yield* Effect.runtime()
          return yield* Effect.promise(() => {
            // Not shared by accounts: the picture may wait behind slow hosts of one of them.
            const own = `${signed.accountId} ${name}`
            const before = fetching.get(own)
            if (before !== undefined) return before
            const begun = Runtime.runPromise(runtime)(fetchOnce(signed.accountId, name, source)).finally(() =>
              fetching.delete(own)
            )
            fetching.set(own, begun)
            return begun
          })
        })
      }
    })
  )
}
