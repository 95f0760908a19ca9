import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { JobId } from "../../src/model/Ids.ts"
import { JobWorker } from "../../src/programs/JobWorker.ts"
import { Stores } from "../../src/stores/Stores.ts"
import { StoresRepo } from "../../src/stores/StoresRepo.ts"
import { actingAs } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aMerchant, aReview, assertNotThere, assertPage, assertRefusal, csrfOf, textOf } from "./Merchant.ts"

/** A merchant, and a function that sends the form of a new store. */
const aLinker = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, cookie } = merchant
  const csrf = csrfOf(yield* ask("/stores/link", { cookie }))
  const domains = Effect.flatMap(Stores, ({ list }) => list).pipe(
    Effect.map((stores) => stores.map(({ domain }) => domain)),
    actingAs(actor)
  )
  const link = (form: Readonly<Record<string, string>>) => ask("/stores/link", { cookie, form: { csrf, ...form } })
  /** Runs the job to which an answer leads. */
  const finish = (answer: Answer) =>
    Effect.gen(function* () {
      const id = JobId.make(String(answer.headers.get("location")).replace("/jobs/", ""))
      return Option.getOrThrow(yield* (yield* JobWorker).settle(id, () => Effect.void))
    }).pipe(actingAs(actor))
  return { ...merchant, csrf, domains, finish, link }
})

const domainOf = (number: number, actor: { readonly accountId: string }) =>
  `shop-${number}-${actor.accountId.slice(0, 8)}.example`

layer(PagesServer, { excludeTestServices: true })("linking and unlinking a store", (it) => {
  it.effect("a store whose data comes from files, and one with a platform", () =>
    Effect.gen(function* () {
      const { actor, cookie, domains, link } = yield* aLinker
      const stores = yield* assertPage("/stores", cookie)
      assert.include(stores.text, '<a class="button" href="/stores/link">Link a store</a>')
      const form = yield* assertPage("/stores/link?platform=none", cookie)
      assert.match(
        textOf(form),
        /^Link a store Stores (.+ )?Demo shop From files Address of the store A host name, such as shop\.example\.com\. Name .+ Main language .+ Currency .+ Link the store Cancel$/
      )
      const answer = yield* link({
        platform: "none",
        domain: ` https://${domainOf(1, actor).toUpperCase()}/admin `,
        name: "Tarn <b>",
        locale: "de",
        currency: "eur"
      })
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/stores?note=linked"])
      const page = yield* ask("/stores?note=linked", { cookie: withNote(cookie, "/stores?note=linked") })
      assert.include(textOf(page), "The store is linked. Refresh it, or import its product export.")
      assert.include(
        textOf(page),
        `Tarn &lt;b> Domain ${domainOf(1, actor)} Platform None: imported from files Languages German Currency Euro`
      )
      assert.strictEqual((yield* link({ platform: "demo", domain: domainOf(2, actor) })).status, 303)
      assert.includeMembers([...(yield* domains)], [domainOf(1, actor), domainOf(2, actor)])
    })
  )

  it.effect(
    "a refused form names the problem at its field, keeps what was typed but not the token, and links nothing",
    () =>
      Effect.gen(function* () {
        const { actor, cookie, domains, link, shop } = yield* aLinker
        const before = yield* domains
        const shopify = yield* assertPage("/stores/link?platform=shopify", cookie)
        assert.include(
          textOf(shopify),
          "It needs these permissions: write_products , write_files , read_inventory , read_markets , read_metaobjects , read_metaobject_definitions , read_translations , read_locales Without read_publications : sales channels are not shown. Without write_publications : new products and collections are put on no sales channel."
        )
        const given = { name: "Kept", locale: "de", currency: "EUR" }
        for (const [form, field, message] of [
          [{ platform: "none", ...given, domain: "no host" }, "domain", "must be"],
          [{ platform: "none", ...given, domain: shop.domain }, "domain", "is already linked"],
          [{ platform: "none", ...given, domain: domainOf(3, actor), currency: "euros" }, "currency", "ISO 4217"],
          [
            { platform: "none", ...given, domain: domainOf(3, actor), locale: "German!" },
            "locale",
            "must be a language"
          ],
          [
            { platform: "shopify", domain: domainOf(3, actor), "credential-token": "a" },
            "domain",
            "address on Shopify"
          ],
          [
            { platform: "shopify", domain: "tarn.myshopify.com", "credential-token": "two words" },
            "credential-token",
            "must be one word"
          ]
        ] as const) {
          const answer = yield* link(form)
          assert.strictEqual(answer.status, 400, message)
          const input = new RegExp(`<input[^>]* name="${field}"[^>]*>`).exec(answer.text)?.[0] ?? ""
          assert.match(input, /aria-invalid="true"/, `${field} ${answer.text.slice(-2000)}`)
          assert.match(input, /autofocus/)
          assert.match(answer.text, new RegExp(`id="${field}-misfit" role="alert">[^<]*${message}`))
          assert.include(answer.text, `value="${form.domain}"`)
          if (form.platform === "none") assert.include(answer.text, 'value="Kept"')
          assert.notInclude(answer.text, "two words")
        }
        assert.strictEqual((yield* link({ platform: "nowhere", domain: domainOf(3, actor) })).status, 400)
        assert.deepStrictEqual(yield* domains, before)
      })
  )

  it.effect("the page says what the store answered to its token, and tests the token", () =>
    Effect.gen(function* () {
      const { accountId, cookie, csrf, shop } = yield* aLinker
      const repo = yield* StoresRepo
      const stores = Effect.map(assertPage("/stores", cookie), textOf)
      assert.notInclude(yield* stores, "Token")
      yield* repo.link(accountId, { ...shop, platform: "shopify" })
      assert.include(yield* stores, "Token not tested yet")
      yield* repo.recordCredentialTest(accountId, shop.id, Option.none(), null)
      assert.match(
        yield* stores,
        /Token Accepted by the store .+ Test the token Replace the token Sales channels Unlink/
      )
      yield* repo.recordCredentialTest(accountId, shop.id, Option.none(), null, ["write_publications"])
      assert.match(
        yield* stores,
        /Token Accepted by the store .+ Without write_publications : new products and collections are put on no sales channel\. /
      )
      // The store has no saved token, so it is not called.
      const form = { csrf, id: shop.id }
      const answer = yield* ask("/stores/test-token", { cookie, form })
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/stores?note=refused"])
      assert.match(
        yield* stores,
        /Token Refused by the store .+ The store has no saved token or credentials: an administrator replaces them on the page Stores\./
      )
      const other = yield* aLinker
      assertNotThere(
        yield* ask("/stores/test-token", { cookie: other.cookie, form: { csrf: other.csrf, id: shop.id } })
      )
    })
  )

  it.effect("unlinking asks first; linked again, the store has its items as before", () =>
    Effect.gen(function* () {
      const { cookie, csrf, domains, finish, link, shop } = yield* aLinker
      const counted = textOf(yield* ask("/stores", { cookie }))
      const question = yield* assertPage(`/stores/unlink?id=${shop.id}`, cookie)
      assert.strictEqual(
        textOf(question),
        `Unlink Tarn &amp; Tern? Its items leave this store here, and nothing is published to it any more. The store itself does not change. Only a saved token or saved credentials are deleted: link ${shop.domain} again, and everything else is restored. Unlink the store Cancel`
      )
      const { hidden } = sectionsOf(question.text, "/stores/unlink")
      assert.deepStrictEqual(hidden, { csrf, id: shop.id })
      const unlinked = yield* ask("/stores/unlink", { cookie, form: hidden as Readonly<Record<string, string>> })
      assert.match(String(unlinked.headers.get("location")), /^\/jobs\//)
      yield* finish(unlinked)
      assert.notInclude([...(yield* domains)], shop.domain)
      assertNotThere(yield* ask(`/stores/unlink?id=${shop.id}`, { cookie }))
      assertNotThere(yield* ask("/stores/unlink", { cookie, form: hidden as Readonly<Record<string, string>> }))
      yield* finish(yield* link({ platform: "demo", domain: shop.domain }))
      assert.strictEqual(textOf(yield* ask("/stores", { cookie })), counted)
    })
  )

  it.effect("neither another account's store nor one under review is unlinked", () =>
    Effect.gen(function* () {
      const mine = yield* aLinker
      const other = yield* aMerchant
      assertNotThere(yield* ask(`/stores/unlink?id=${other.shop.id}`, { cookie: mine.cookie }))
      const form = { csrf: mine.csrf, id: other.shop.id }
      assertNotThere(yield* ask("/stores/unlink", { cookie: mine.cookie, form }))
      yield* aReview(mine)
      assertRefusal(yield* ask("/stores/unlink", { cookie: mine.cookie, form: { ...form, id: mine.shop.id } }), 423, {
        title: "An import is in progress",
        message:
          "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.",
        next: ["/imports", "To the imports"]
      })
      assert.include([...(yield* mine.domains)], mine.shop.domain)
    })
  )
})
