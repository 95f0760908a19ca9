import { Effect, Either, Option } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import { StoreId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import { PlatformRegistry } from "../../platform/PlatformRegistry.ts"
import { SalesChannels } from "../../storedata/SalesChannels.ts"
import { permissionsNamed } from "../../stores/LinkRules.ts"
import { Stores } from "../../stores/Stores.ts"
import { refusedStore, type Visitor } from "../Browser.ts"
import { html, seeOther } from "../Html.ts"
import { wordsIn } from "../languages/Words.tsx"
import { idOf, makePageHandlers, noteOf, type PageServices, queryOf } from "../PageHandlers.ts"
import { paths, storeChannelsOf } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import {
  ChannelsPage,
  type ChannelsPageContent,
  channelFields,
  type TypedChannels,
  textOfChoice,
  wordsOfChoice
} from "./ChannelsPage.tsx"

// Both call the store, which may be slow.
const routes = {
  show: ["GET", paths.storeChannels, refuseOnPage, "admin", "batch"],
  save: ["POST", paths.storeChannels, refuseOnPage, "admin", "batch"]
} as const

const notes = { saved: "The sales channels for new products and collections are saved." } as const

const noChoice = refusedStore({
  title: "This store has no choice of sales channels",
  message: "{store} decides itself where it sells new products and collections."
})

const typedIn = (form: Parameters): TypedChannels => {
  const of = form.get(channelFields.of)
  const ticked = form.names.filter((name) => name.startsWith(channelFields.channel))
  return {
    of: of === "default" || of === "chosen" ? of : undefined,
    ticked: new Map(ticked.map((name) => [name.slice(channelFields.channel.length), form.get(name) ?? name]))
  }
}

/** The page that chooses the sales channels of a store for new products and collections. */
export const storeChannels: Surface<PlatformRegistry | SalesChannels | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const platforms = yield* PlatformRegistry
    const salesChannels = yield* SalesChannels
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makePageHandlers

    /** The store that a form or query names, and its default channels. PageRefused: its channels cannot be chosen. */
    const choosable = (parameters: Parameters) =>
      Effect.gen(function* () {
        const store = yield* Effect.flatMap(idOf(StoreId, parameters), stores.find)
        const { isDefaultChannel } = Option.getOrElse(platforms.find(store.platform), () => ({
          isDefaultChannel: undefined
        }))
        return isDefaultChannel === undefined ? yield* noChoice(store) : { store, isDefault: isDefaultChannel }
      })

    const read = (store: Store) =>
      salesChannels.ofStore(store.id).pipe(
        Effect.map(Either.right),
        Effect.catchTag("LiveReadFailed", ({ message }) => Effect.succeed(Either.left(message)))
      )

    type Shown = Pick<ChannelsPageContent, "isDefault" | "store"> &
      Partial<Pick<ChannelsPageContent, "chosen" | "live" | "note" | "refusal" | "typed">>

    const show = (visitor: Visitor, { chosen, live, ...shown }: Shown, status = 200) =>
      Effect.gen(function* () {
        const { store } = shown
        const { missingPermissions = [] } = (yield* stores.credentialTests).get(store.id) ?? {}
        const content = {
          visitor,
          live: live ?? (yield* read(store)),
          chosen: chosen === undefined ? yield* salesChannels.forNewRecords(store.id) : chosen,
          missing: permissionsNamed(platforms.find(store.platform), missingPermissions)
        }
        return html(visitor, <ChannelsPage {...content} {...shown} />, { status })
      })

    return {
      show: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const parameters = queryOf(request)
          return yield* show(visitor, {
            ...(yield* choosable(parameters)),
            note: noteOf(notes, parameters.get("note"))
          })
        })
      ),
      save: withForm((visitor, form) =>
        Effect.gen(function* () {
          const t = wordsIn(visitor.pageLanguage)
          const chooser = yield* choosable(form)
          const { store } = chooser
          const typed = typedIn(form)
          const saved = seeOther(`${storeChannelsOf(store.id)}&note=saved`)
          const chosen = yield* salesChannels.forNewRecords(store.id)
          const refuse = (status: number, more: Partial<Shown>) =>
            show(visitor, { ...chooser, typed, chosen, ...more }, status)
          if (typed.of === undefined)
            return yield* refuse(400, { refusal: "Nothing is chosen: choose the default, or channels." })
          const choice = typed.of === "default" ? null : [...typed.ticked.keys()]
          if (textOfChoice(chosen) === textOfChoice(choice)) return saved
          const savedChoice =
            textOfChoice(chosen) === form.get(channelFields.before)
              ? yield* Effect.either(salesChannels.chooseForNewRecords(store.id, choice, chosen))
              : Either.right(false)
          if (Either.isRight(savedChoice) && savedChoice.right) return saved
          if (Either.isLeft(savedChoice) && savedChoice.left._tag === "LiveReadFailed")
            return yield* refuse(400, { live: Either.left(savedChoice.left.message) })
          const live = yield* read(store)
          const channels = Either.getOrElse(live, () => [])
          if (Either.isRight(savedChoice)) {
            const newerChoice = yield* salesChannels.forNewRecords(store.id)
            const words = { channels: wordsOfChoice(t, newerChoice, channels) }
            const refusal = t(
              "Somebody else has chosen meanwhile: {channels}. Check your choice, and save again.",
              words
            )
            return yield* refuse(409, { live, chosen: newerChoice, refusal })
          }
          const gone = [...typed.ticked].filter(([id]) => !channels.some((channel) => channel.id === id))
          const words = { channels: t.list(gone.map(([, name]) => name)) }
          const refusal = t(
            "The store no longer has {channels}. Nothing was saved: check the channels, and save again.",
            words
          )
          return yield* refuse(400, { live, refusal })
        })
      )
    }
  })
)
