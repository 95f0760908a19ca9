import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect, Layer, Logger, Redacted } from "effect"
import { PasswordCost } from "../../src/access/Passwords.ts"
import { Sessions } from "../../src/access/Sessions.ts"
import { Users } from "../../src/access/Users.ts"
import { MerchantLists } from "../../src/catalog/MerchantLists.ts"
import { SavedViews } from "../../src/catalog/SavedViews.ts"
import { Authorization } from "../../src/connections/Authorization.ts"
import { Connections } from "../../src/connections/Connections.ts"
import * as Migrations from "../../src/database/Migrations.ts"
import { Exports } from "../../src/exports/Exports.ts"
import { Imports } from "../../src/imports/Imports.ts"
import type { Actor } from "../../src/model/Actor.ts"
import { FaultInjector } from "../../src/runtime/FaultInjector.ts"
import { RepositoriesOnDatabase, Services } from "../../src/Services.ts"
import { SalesChannels } from "../../src/storedata/SalesChannels.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { actingAs, Stores } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { addressOf, ask, aUser, nodeOf, withNote } from "../oauth/PagesServer.ts"
import { adminSchema } from "../platform/AdminSchema.ts"
import { layerServer, layerShopify, ShopifyTestServer } from "../platform/PlatformShops.ts"
import { scopesWithout } from "../platform/ShopifyAccess.ts"
import { anyDatabase } from "../support/TestDatabase.ts"
import { assertNotThere, assertPage, assertRefusal, csrfOf, textOf } from "./Merchant.ts"

const key = Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) })

const shopify = layerShopify({ liveLimit: Duration.seconds(4) }).pipe(Layer.provideMerge(layerServer))

/** A node whose Shopify stores are on a server of Shopify's schema. */
const served = addressOf().pipe(
  Layer.provideMerge(nodeOf()),
  Layer.provideMerge(
    Layer.mergeAll(
      Authorization.layer,
      Connections.layer,
      Exports.layer.pipe(Layer.provide(MerchantLists.layer)),
      Imports.layer,
      MerchantLists.layer,
      SavedViews.layer,
      Sessions.layer,
      Users.layer
    )
  ),
  Layer.provide(FaultInjector.layer),
  Layer.provideMerge(Services),
  Layer.provide(key),
  Layer.provideMerge(Layer.merge(RepositoriesOnDatabase, shopify)),
  Layer.provideMerge(Migrations.layer),
  Layer.provideMerge(anyDatabase),
  Layer.provideMerge(Logger.remove(Logger.defaultLogger)),
  Layer.provideMerge(Layer.succeed(PasswordCost, 2 ** 10)),
  Layer.orDie
)

const publicationOf = (name: string, number: number, autoPublish = false) => ({
  id: `gid://shopify/Publication/${number}`,
  autoPublish,
  supportsFuturePublishing: false,
  catalog: { __typename: name === "Europe" ? "MarketCatalog" : "AppCatalog", id: name, title: name },
  channels: { nodes: name === "Europe" ? [] : [{ name, handle: name.toLowerCase().replaceAll(" ", "_") }] }
})
const online = publicationOf("Online Store", 1)
const till = publicationOf("Point of <Sale", 2)
const fair = publicationOf("Fair", 3, true)
const europe = publicationOf("Europe", 4)

const domain = "tern.myshopify.com"

/** A user with a Shopify store that has four sales channels. The domain is free again afterwards. */
const opened = <A, E, R>(use: (shop: Effect.Effect.Success<typeof aShop>) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(aShop, (shop) =>
    Effect.ensuring(
      use(shop),
      Effect.flatMap(Stores, ({ unlink }) => unlink(domain)).pipe(actingAs(shop.actor), Effect.ignore)
    )
  )

const aShop = Effect.gen(function* () {
  const user = yield* aUser()
  const actor: Actor = { _tag: "Cli", accountId: user.accountId }
  const server = yield* ShopifyTestServer
  const token = crypto.randomUUID()
  const shop = server.open(token)
  shop.sections.publications = [online, till, fair, europe]
  const link = (scopes = scopesWithout()) => {
    shop.scopes = scopes
    const store = { domain, platform: "shopify", credentials: { token: Redacted.make(token) } }
    return Effect.map(
      Effect.flatMap(Stores, ({ link }) => link(store)),
      ({ store }) => store
    ).pipe(actingAs(actor), Effect.orDie)
  }
  const store = yield* link()
  const path = `/stores/channels?id=${store.id}`
  const page = ask(path, { cookie: user.cookie })
  const csrf = csrfOf(yield* page)
  /** What the form of the page sends, with these channels ticked. Null: the default. */
  const formOf = (text: string, ticked: ReadonlyArray<typeof online> | null) => ({
    ...sectionsOf(text, "/stores/channels").hidden,
    of: ticked === null ? "default" : "chosen",
    ...Object.fromEntries((ticked ?? []).map(({ catalog, id }) => [`channel-${id}`, catalog.title]))
  })
  const send = (form: Readonly<Record<string, string>>) => ask("/stores/channels", { cookie: user.cookie, form })
  const save = (ticked: ReadonlyArray<typeof online> | null) =>
    Effect.flatMap(page, ({ text }) => send(formOf(text, ticked)))
  const chosen = Effect.flatMap(SalesChannels, ({ forNewRecords }) => forNewRecords(store.id)).pipe(actingAs(actor))
  return { ...user, actor, chosen, csrf, formOf, link, page, path, save, send, server, shop, store, token }
})

/** The ticked channels of the form, and its radio buttons. */
const stateOf = ({ text }: { readonly text: string }) => ({
  ticked: [...text.matchAll(/<input type="checkbox" name="channel-[^"]*\/(\d+)"([^>]*)>/g)].flatMap(
    ([, number, rest = ""]) => (/\schecked/.test(rest) ? [Number(number)] : [])
  ),
  of: sectionsOf(text, "/stores/channels").choices.flatMap(([value, isChecked]) => (isChecked ? [value] : []))
})

const retried = (text: string) => sectionsOf(text, "/stores/channels").hidden as Readonly<Record<string, string>>

const intro =
  "A publish that creates a product or collection in the store puts it on these channels. What the store has already stays where it is."
const title = "Sales channels of Tern &amp; Daughters All stores"

describe.skipIf(adminSchema === undefined)("the sales channels of a store for new records", () => {
  layer(served, { excludeTestServices: true })((it) => {
    it.effect("are the default, until a person chooses others; the choice can be taken back", () =>
      opened(({ chosen, cookie, page, path, save }) =>
        Effect.gen(function* () {
          const stores = yield* assertPage("/stores", cookie)
          assert.include(
            stores.text,
            `<a href="${path}" aria-label="Sales channels of Tern &amp; Daughters">Sales channels</a>`
          )
          const first = yield* assertPage(path, cookie)
          assert.strictEqual(
            textOf(first),
            `${title} ${intro} New products and collections The default: Online Store Customers look for new products there. Other channels have rules of their own, so they are used only if you choose them. The channels that you choose Without any, new products and collections are on no channel. Online Store Point of &lt;Sale Fair The store puts new products here by itself. Europe Only in a market. Save Cancel`
          )
          assert.deepStrictEqual(stateOf(first), { of: ["default"], ticked: [1] })
          for (const [ticked, kept] of [
            [[online, till], { of: ["chosen"], ticked: [1, 2] }],
            [[], { of: ["chosen"], ticked: [] }],
            [null, { of: ["default"], ticked: [1] }]
          ] as const) {
            const saved = yield* save(ticked)
            const address = `${path}&note=saved`
            assert.deepStrictEqual([saved.status, saved.headers.get("location")], [303, address])
            const shown = yield* ask(address, { cookie: withNote(cookie, address) })
            assert.include(textOf(shown), "The sales channels for new products and collections are saved.")
            assert.deepStrictEqual(stateOf(yield* page), { of: [...kept.of], ticked: [...kept.ticked] })
            assert.deepStrictEqual(yield* chosen, ticked === null ? null : ticked.map(({ id }) => id))
          }
        })
      )
    )

    it.effect("ticks beside the default do not count, and a form without a choice is refused", () =>
      opened(({ chosen, csrf, formOf, page, send, store }) =>
        Effect.gen(function* () {
          const { text } = yield* page
          yield* send({ ...formOf(text, [till]), of: "default" })
          assert.isNull(yield* chosen)
          for (const of of [{}, { of: "" }, { of: "all" }]) {
            const answer = yield* send({ csrf, id: store.id, before: "null", ...of })
            assert.strictEqual(answer.status, 400)
            assert.include(
              answer.text,
              '<div class="alert" role="alert"><p>Nothing is chosen: choose the default, or channels.</p></div>'
            )
          }
          assert.isNull(yield* chosen)
        })
      )
    )

    it.effect("of two people who choose at once, the second is told, and can save again", () =>
      opened(({ chosen, formOf, page, send }) =>
        Effect.gen(function* () {
          const { text } = yield* page
          const answers = yield* Effect.all([send(formOf(text, [till])), send(formOf(text, [fair]))], {
            concurrency: 2
          })
          assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [303, 409])
          const refused = answers.find(({ status }) => status === 409)
          if (refused === undefined) return assert.fail("both were saved")
          const [own, other] = answers[0] === refused ? [till, fair] : [fair, till]
          assert.deepStrictEqual(yield* chosen, [other.id])
          const name = other.catalog.title.replace("<", "&lt;")
          assert.include(
            textOf(refused),
            `${title} Somebody else has chosen meanwhile: ${name}. Check your choice, and save again. ${intro}`
          )
          assert.deepStrictEqual(stateOf(refused), { of: ["chosen"], ticked: own === till ? [2] : [3] })
          // The same form twice, as after a double click.
          const again = formOf(refused.text, [own])
          for (const form of [again, again]) assert.strictEqual((yield* send(form)).status, 303)
          assert.deepStrictEqual(yield* chosen, [own.id])
          const outdated = yield* send({ ...formOf(text, [online]), before: "\u0001[" })
          assert.strictEqual(outdated.status, 409)
          assert.deepStrictEqual(yield* chosen, [own.id])
        })
      )
    )

    it.effect("that are gone from the store are named, and left out by the next save", () =>
      opened(({ chosen, formOf, page, save, send, shop }) =>
        Effect.gen(function* () {
          yield* save([till, fair])
          const open = yield* page
          shop.sections.publications = [online, fair]
          const warning = `1 chosen channel is gone from the store: ${till.id}. Publishes leave it out, and say so, until you save this form.`
          assert.include(textOf(yield* page), `${title} ${warning} ${intro}`)
          const refused = yield* send(formOf(open.text, [online, till]))
          assert.strictEqual(refused.status, 400)
          assert.include(
            textOf(refused),
            `${title} The store no longer has Point of &lt;Sale. Nothing was saved: check the channels, and save again. ${warning}`
          )
          assert.deepStrictEqual(stateOf(refused), { of: ["chosen"], ticked: [1] })
          assert.deepStrictEqual(yield* chosen, [till.id, fair.id])
          shop.sections.publications = [online]
          assert.include(
            textOf(yield* page),
            `2 chosen channels are gone from the store: ${till.id} and ${fair.id}. Publishes leave them out, and say so, until you save this form.`
          )
          assert.strictEqual((yield* send(formOf(refused.text, [online]))).status, 303)
          assert.deepStrictEqual(yield* chosen, [online.id])
          assert.notInclude(textOf(yield* page), "gone from the store")
          shop.sections.publications = []
          yield* save(null)
          assert.include(textOf(yield* page), "The default: the store has no such channel, so none")
        })
      )
    )

    it.effect("cannot be chosen while the store does not answer; the form can be sent again", () =>
      opened(({ chosen, formOf, page, send, server, token }) =>
        Effect.gen(function* () {
          const { text } = yield* page
          server.script(token, "*", "html", 1_000)
          const why =
            "The sales channels of the store cannot be read now, so none can be chosen. The store's platform cannot be reached: its answer is not valid. Retry"
          assert.strictEqual(textOf(yield* page), `${title} ${intro} ${why}`)
          const refused = yield* send(formOf(text, [till, online]))
          assert.strictEqual(refused.status, 400)
          assert.strictEqual(textOf(refused), `${title} ${intro} Nothing was saved. ${why}`)
          // The default needs no answer of the store.
          server.repair(token)
          assert.strictEqual((yield* send(retried(refused.text))).status, 303)
          assert.deepStrictEqual(yield* chosen, [till.id, online.id])
        })
      )
    )

    it.effect("are shown with the permissions that the token lacks", () =>
      opened(({ chosen, formOf, link, page, send }) =>
        Effect.gen(function* () {
          const { text } = yield* page
          const grant = "Grant them to the app in the store, then test the token on the page Stores ."
          const writes = "Without write_publications : new products and collections are put on no sales channel."
          yield* link(new Set([...scopesWithout("write_publications"), "read_publications"]))
          assert.include(
            textOf(yield* page),
            `${title} The store's token lacks permissions: ${writes} ${grant} ${intro} New products and`
          )
          yield* link(scopesWithout("write_publications"))
          const denied = `The sales channels of the store cannot be read now, so none can be chosen. The access token lacks the permission read_publications, so sales channels cannot be read. The store's token lacks permissions: Without read_publications : sales channels are not shown. ${writes} ${grant} Retry`
          assert.strictEqual(textOf(yield* page), `${title} ${intro} ${denied}`)
          const refused = yield* send(formOf(text, [till]))
          assert.strictEqual(refused.status, 400)
          assert.strictEqual(textOf(refused), `${title} ${intro} Nothing was saved. ${denied}`)
          assert.isNull(yield* chosen)
        })
      )
    )

    it.effect("of other accounts, of unlinked stores and of stores without a choice are not there", () =>
      opened(({ actor, chosen, cookie, formOf, page, path, send, store }) =>
        Effect.gen(function* () {
          const stranger = yield* aUser()
          const { text } = yield* page
          const own = formOf(text, [till])
          assertNotThere(yield* ask(path, { cookie: stranger.cookie }))
          const csrf = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
          assertNotThere(yield* ask("/stores/channels", { cookie: stranger.cookie, form: { ...own, csrf } }))
          for (const id of ["", "nonsense", crypto.randomUUID()]) {
            assertNotThere(yield* ask(`/stores/channels?id=${id}`, { cookie }))
            assertNotThere(yield* send({ ...own, id }))
          }
          assert.isNull(yield* chosen)
          yield* Effect.gen(function* () {
            const { link, unlink } = yield* Stores
            for (const [platform, at] of [
              ["demo", "tern.demo.example"],
              ["none", "tern.files.example"]
            ] as const) {
              const { store: other } = yield* link({ domain: at, platform })
              const refusal = {
                title: "This store has no choice of sales channels",
                message: `${at} decides itself where it sells new products and collections.`,
                next: ["/stores", "To the stores"]
              } as const
              const address = `/stores/channels?id=${other.id}`
              assertRefusal(yield* ask(address, { cookie }), 400, refusal)
              assertRefusal(yield* send({ ...own, id: other.id }), 400, refusal)
              assert.notInclude((yield* ask("/stores", { cookie })).text, address)
            }
            yield* unlink(store.domain)
            assertNotThere(yield* page)
            assertNotThere(yield* send(own))
          }).pipe(actingAs(actor))
        })
      )
    )
  })
})
