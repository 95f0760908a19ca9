import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Drafts } from "../../src/drafts/Drafts.ts"
import type { StoreId } from "../../src/model/Ids.ts"
import { actingAs, anEntity, Catalog, CatalogChange, CatalogChanges } from "../../src/testing/index.ts"
import { sectionsOf } from "../oauth/Html.ts"
import { type Answer, aBrowser, ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aMerchant, aReview, assertForeignForm, assertNotThere, assertRefusal, csrfOf } from "./Merchant.ts"
import { assertPage, escaped, mainOf } from "./WholePage.ts"

type Gallery = Effect.Effect.Success<typeof aGallery>

/** A stove with four pictures on two stores; the last is on the shop only. */
const aGallery = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, files, shop, stove } = merchant
  const pictures = yield* Effect.gen(function* () {
    const ids = yield* Effect.forEach(["Front", "Side & more", "Back", "Lid"], (alt) =>
      anEntity("media", { alt, url: `https://shop.example/${alt[0]}.jpg` })
    )
    yield* (yield* CatalogChanges).apply([
      CatalogChange.AddToStore({ entityId: stove, storeId: files.id }),
      CatalogChange.SetGallery({
        entityId: stove,
        entries: ids.map((mediaId, place) => ({ mediaId, storeIds: place === 3 ? [shop.id] : [shop.id, files.id] }))
      })
    ])
    return ids
  }).pipe(actingAs(actor))
  const [front, side, back, lid] = pictures
  if (front === undefined || side === undefined || back === undefined || lid === undefined)
    return assert.fail("no pictures")
  return { ...merchant, front, side, back, lid }
})

const pageOf = ({ cookie, stove }: Pick<Gallery, "cookie" | "stove">, query = "") =>
  ask(`/entity?id=${stove}${query}`, { cookie })

const galleryIn = ({ text }: Answer) =>
  /<section aria-labelledby="gallery">.*?<\/section>/s.exec(text)?.[0] ?? assert.fail("no gallery")

const wordsOf = (html: string) =>
  html
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

const namesIn = (answer: Answer) => [...galleryIn(answer).matchAll(/data-name="([^"]*)"/g)].map(([, name]) => name)

const alertIn = (answer: Answer) =>
  wordsOf(/<div class="alert" role="alert">.*?<\/div>/s.exec(answer.text)?.[0] ?? assert.fail("no alert"))

const send = (cookie: string, form: Readonly<Record<string, string>>) => ask("/entity/gallery", { cookie, form })

/** The hidden fields of the first form of the gallery. */
const openForm = (gallery: Pick<Gallery, "cookie" | "stove">) =>
  Effect.map(pageOf(gallery), (page) => sectionsOf(page.text, "/entity/gallery").hidden)

const stored = ({ actor, stove }: Gallery) =>
  Effect.flatMap(Drafts, ({ sheet }) => sheet(stove)).pipe(
    Effect.map(({ gallery }) => gallery.map(({ mediaId, storeIds }) => [mediaId, storeIds.length] as const)),
    actingAs(actor)
  )

const revision = ({ actor, stove }: Gallery) =>
  Effect.flatMap(Drafts, ({ get }) => Effect.map(get(stove, null), ({ draft_revision }) => draft_revision)).pipe(
    actingAs(actor)
  )

/** The hidden fields of the form that undoes the last change. */
const undoOf = (answer: Answer) =>
  sectionsOf(
    [...galleryIn(answer).matchAll(/<form[\s\S]*?<\/form>/g)]
      .map(([text]) => text)
      .find((text) => text.includes("Undo")) ?? assert.fail("no undo"),
    "/entity/gallery"
  ).hidden

/** Makes the function that sends a form with this cookie, and opens the page to which it leads. */
const sendingWith = (cookie: string) => (form: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const sent = yield* send(cookie, form)
    assert.strictEqual(sent.status, 303, sent.text)
    const [address = ""] = String(sent.headers.get("location")).split("#")
    return yield* ask(address, { cookie: withNote(cookie, address) })
  })

layer(PagesServer, { excludeTestServices: true })("the gallery of a product", (it) => {
  it.effect("shows the pictures in order, with their names, places and stores", () =>
    Effect.gen(function* () {
      const gallery = yield* aGallery
      const { cookie, front, lid, shop } = gallery
      const page = yield* pageOf(gallery)
      assertPage(page)
      assert.deepStrictEqual(namesIn(page), ["Front", "Side &amp; more", "Back", "Lid"])
      const section = galleryIn(page)
      assert.match(section, /<ol class="gallery"/)
      assert.lengthOf([...section.matchAll(/<img src="\/pictures\/400\/[\w-]+\/[\w-]+\/[\w-]+"[^>]* alt[ >]/g)], 4)
      const cards = [...section.matchAll(/<li id="picture-.*?<\/li>/gs)].map(([card]) => wordsOf(card))
      assert.deepStrictEqual(cards, [
        "Front On all stores Change the stores of Front Take out Front Main picture",
        "Side &amp; more On all stores Change the stores of Side &amp; more Take out Side &amp; more",
        "Back On all stores Change the stores of Back Take out Back",
        `Lid Only on ${escaped(shop.name)} Change the stores of Lid Take out Lid`
      ])
      // The first cannot move up, the last cannot move down.
      for (const [id, by, isEnd] of [
        [front, "up", true],
        [front, "down", false],
        [lid, "up", false],
        [lid, "down", true]
      ] as const) {
        const button = new RegExp(`<button[^>]*id="picture-${id}-${by}"[^>]*>`).exec(section)?.[0] ?? ""
        assert.include(button, 'form="gallery-move"')
        assert.strictEqual(button.includes(" disabled"), isEnd, `${id} ${by}`)
      }
      // A product without pictures says so; who may not edit sees no control.
      assert.include(wordsOf(mainOf(yield* ask(`/entity?id=${front}`, { cookie }))), "Front")
      const { cookie: viewer } = yield* aBrowser(gallery.accountId, `viewer-${front}@example.com`, "view")
      const seen = galleryIn(yield* ask(`/entity?id=${gallery.stove}&picture=${lid}`, { cookie: viewer }))
      assert.notMatch(seen, /<button|Change|checkbox|Add pictures/)
      assertNoEffect(yield* send(viewer, yield* openForm(gallery)))
    })
  )

  it.effect("moves a picture up and down as a draft, and takes it back", () =>
    Effect.gen(function* () {
      const gallery = yield* aGallery
      const { back, cookie, front, lid, side, stove } = gallery
      const before = yield* revision(gallery)
      const form = yield* openForm(gallery)
      const moved = yield* send(cookie, { ...form, move: `${side} 0 up` })
      const address = `/entity?${new URLSearchParams({ id: stove, note: `moved ${side} 1` })}`
      assert.deepStrictEqual([moved.status, moved.headers.get("location")], [303, `${address}#picture-${side}-down`])
      const page = yield* ask(address, { cookie: withNote(cookie, address) })
      assert.deepStrictEqual(namesIn(page), ["Side &amp; more", "Front", "Back", "Lid"])
      assert.include(
        page.text,
        '<div class="note" role="status"><p><bdi>Side &amp; more</bdi> is picture 1 of 4 now: saved as a draft.</p></div>'
      )
      assert.strictEqual(yield* revision(gallery), before + 1)
      assert.include(wordsOf(mainOf(page)), "Catalog Gallery changed")
      assert.include(wordsOf(galleryIn(page)), "Saved Undo")
      const undo = [...galleryIn(page).matchAll(/<form[\s\S]*?<\/form>/g)].map(([text]) => text).at(-1) ?? ""
      const back1 = yield* send(cookie, sectionsOf(undo, "/entity/gallery").hidden)
      assert.strictEqual(
        back1.headers.get("location"),
        `/entity?${new URLSearchParams({ id: stove, note: `moved ${side} 0` })}#picture-${side}-undo`
      )
      assert.deepStrictEqual(yield* stored(gallery), [
        [front, 2],
        [side, 2],
        [back, 2],
        [lid, 1]
      ])
      // The note is shown once, and without it nothing offers an undo.
      assert.notInclude(galleryIn(yield* pageOf(gallery)), "Undo")
      // Where it is already: nothing is written.
      const same = yield* send(cookie, { ...(yield* openForm(gallery)), move: `${back} 2 handle` })
      assert.strictEqual(same.headers.get("location"), `/entity?id=${stove}#picture-${back}-handle`)
      assert.strictEqual(yield* revision(gallery), before + 2)
    })
  )

  it.effect("chooses the stores that show a picture", () =>
    Effect.gen(function* () {
      const gallery = yield* aGallery
      const { back, cookie, files, lid, shop, stove } = gallery
      const page = yield* pageOf(gallery, `&picture=${lid}`)
      assertPage(page)
      const open = /<li id="picture-[^>]*class="open".*?<\/li>/s.exec(galleryIn(page))?.[0] ?? assert.fail("not open")
      const box = (storeId: StoreId) => new RegExp(`<input[^>]*name="on-${storeId}"[^>]*>`).exec(open)?.[0] ?? ""
      assert.include(box(shop.id), " checked")
      assert.notInclude(box(files.id), " checked")
      const { hidden } = sectionsOf(open, "/entity/gallery")
      assert.strictEqual(hidden.picture, lid)
      const saved = yield* send(cookie, { ...hidden, [`on-${files.id}`]: "yes" })
      const address = `/entity?${new URLSearchParams({ id: stove, note: `shown ${lid} ${shop.id}` })}`
      assert.strictEqual(saved.headers.get("location"), `${address}#picture-${lid}`)
      const after = yield* ask(address, { cookie: withNote(cookie, address) })
      assert.include(wordsOf(galleryIn(after)), `Lid Only on ${files.name}`)
      const undo = [...galleryIn(after).matchAll(/<form[\s\S]*?<\/form>/g)].map(([text]) => text).at(-1) ?? ""
      assert.strictEqual((yield* send(cookie, sectionsOf(undo, "/entity/gallery").hidden)).status, 303)
      assert.include(wordsOf(galleryIn(yield* pageOf(gallery))), `Lid Only on ${escaped(shop.name)}`)
      // No store at all is a choice too.
      const { hidden: again } = sectionsOf(galleryIn(yield* pageOf(gallery, `&picture=${back}`)), "/entity/gallery")
      assert.strictEqual((yield* send(cookie, { ...again, picture: back })).status, 303)
      assert.include(wordsOf(galleryIn(yield* pageOf(gallery))), "Back On no store")
      const stranger = yield* aMerchant
      const form = { ...(yield* openForm(gallery)), picture: back }
      for (const store of [stranger.shop.id, "x"])
        assertNotThere(yield* send(cookie, { ...form, [`on-${store}`]: "yes" }))
    })
  )

  it.effect("a picture of a variant joins the gallery of the product, and an undo takes both back", () =>
    Effect.gen(function* () {
      const { actor, cookie, files, front, shop, stove } = yield* aGallery
      const onProduct = Effect.flatMap(Drafts, ({ sheet }) => sheet(stove)).pipe(
        Effect.map(({ gallery }) => gallery.map(({ mediaId, storeIds }) => [mediaId, storeIds.length] as const)),
        actingAs(actor)
      )
      const { variant, pot } = yield* Effect.gen(function* () {
        const { variantIds } = yield* (yield* Catalog).get("product", stove)
        const [variant = assert.fail("no variant")] = variantIds
        yield* (yield* CatalogChanges).apply([CatalogChange.AddToStore({ entityId: variant, storeId: files.id })])
        return { variant, pot: yield* anEntity("media", { alt: "Pot", url: "https://shop.example/pot.jpg" }) }
      }).pipe(actingAs(actor))
      const open = (query = "") => ask(`/entity?id=${variant}${query}`, { cookie })
      const sendAndOpen = sendingWith(cookie)
      const before = yield* onProduct
      // The page of a variant without pictures offers to add some.
      assert.match(wordsOf(galleryIn(yield* open())), /There are no pictures\. .*Add pictures/)
      const picker = (yield* open("&pick=yes&find=pot")).text
      const { hidden } = sectionsOf(picker.slice(picker.indexOf('<ul class="pictures"') - 1_500), "/entity/gallery")
      const added = yield* sendAndOpen({ ...hidden, add: pot })
      assert.include(added.text, "<bdi>Pot</bdi> is in the gallery now, and in that of the product: saved as a draft.")
      assert.deepStrictEqual(yield* onProduct, [...before, [pot, 2]])
      const undone = yield* sendAndOpen(undoOf(added))
      assert.include(undone.text, "<bdi>Pot</bdi> is not in the gallery any more: saved as a draft.")
      assert.deepStrictEqual(yield* onProduct, before)
      // The undo of the undo adds both again.
      const again = yield* sendAndOpen(undoOf(undone))
      assert.deepStrictEqual(yield* onProduct, [...before, [pot, 2]])
      yield* sendAndOpen(undoOf(again))

      // A picture that the product shows on one of the stores is shown on the other one too, until the undo.
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([
          CatalogChange.SetGallery({ entityId: stove, entries: [{ mediaId: front, storeIds: [shop.id] }] }),
          CatalogChange.SetGallery({ entityId: variant, entries: [{ mediaId: front, storeIds: [shop.id] }] })
        ])
      ).pipe(actingAs(actor))
      const form = sectionsOf((yield* open()).text, "/entity/gallery").hidden
      const shown = yield* sendAndOpen({ ...form, picture: front, [`on-${shop.id}`]: "yes", [`on-${files.id}`]: "yes" })
      assert.include(
        shown.text,
        "<bdi>Front</bdi>: its stores are saved as a draft. The gallery of the product shows it there too."
      )
      assert.deepStrictEqual(yield* onProduct, [[front, 2]])
      const hiddenAgain = yield* sendAndOpen(undoOf(shown))
      assert.include(hiddenAgain.text, "<bdi>Front</bdi>: its stores are saved as a draft.</p>")
      assert.deepStrictEqual(yield* onProduct, [[front, 1]])
      // A text that no page made joins nothing.
      const late = sectionsOf((yield* open()).text, "/entity/gallery").hidden
      yield* sendAndOpen({ ...late, remove: front, joined: "all" })
      assert.deepStrictEqual(yield* onProduct, [[front, 1]])
    })
  )

  it.effect("takes a picture out, and adds pictures of the account, as drafts that can be undone", () =>
    Effect.gen(function* () {
      const gallery = yield* aGallery
      const { actor, back, cookie, files, front, lid, shop, side, stove } = gallery
      const sendAndOpen = sendingWith(cookie)
      const out = yield* sendAndOpen({ ...(yield* openForm(gallery)), remove: side })
      assert.deepStrictEqual(namesIn(out), ["Front", "Back", "Lid"])
      assert.include(
        out.text,
        '<div class="note" role="status"><p><bdi>Side &amp; more</bdi> is not in the gallery any more: saved as a draft.</p></div>'
      )
      const again = yield* sendAndOpen(undoOf(out))
      assert.deepStrictEqual(namesIn(again), ["Front", "Side &amp; more", "Back", "Lid"])
      assert.deepStrictEqual((yield* stored(gallery))[1], [side, 2])

      const pot = yield* anEntity("media", { alt: "Pot", url: "https://shop.example/pot.jpg" }).pipe(actingAs(actor))
      const picker = yield* pageOf(gallery, "&pick=yes&find=pot")
      assertPage(picker)
      const section = /<section id="picker".*?<\/section>/s.exec(picker.text)?.[0] ?? assert.fail("no picker")
      assert.match(section, /<input type="search" name="find" value="pot" aria-label="Search media"/)
      assert.include(wordsOf(section), "Pot Add Pot")
      assert.notInclude(wordsOf(section), "Front")
      assert.include(wordsOf((yield* pageOf(gallery, "&pick=yes")).text), "Front In the gallery")
      const { hidden } = sectionsOf(section.slice(section.indexOf('<form method="post"')), "/entity/gallery")
      const added = yield* sendAndOpen({ ...hidden, add: pot })
      assert.deepStrictEqual(namesIn(added), ["Front", "Side &amp; more", "Back", "Lid", "Pot"])
      assert.include(added.text, "<bdi>Pot</bdi> is in the gallery now: saved as a draft.")
      // The picker stays open, and shows that the picture is in the gallery now.
      assert.include(wordsOf(galleryIn(added)), "Pot In the gallery")
      assert.deepStrictEqual((yield* stored(gallery)).at(-1), [pot, 2])
      const on = yield* Effect.flatMap(Drafts, ({ sheet }) => sheet(pot)).pipe(actingAs(actor))
      assert.sameMembers(
        on.stores.map(({ projection }) => projection.store_id),
        [shop.id, files.id]
      )
      const removed = yield* sendAndOpen(undoOf(added))
      assert.deepStrictEqual(namesIn(removed), ["Front", "Side &amp; more", "Back", "Lid"])

      // Refused are: a search that is too long, an outdated form, an entity that is not a picture, a malformed form, and a full gallery.
      const long = yield* pageOf(gallery, `&pick=yes&find=${"x".repeat(201)}`)
      assert.include(wordsOf(galleryIn(long)), "A search or filter has at most 200 characters.")
      assert.match(long.text, /<input type="search" name="find"[^>]*aria-invalid="true"/)
      const late = yield* openForm(gallery)
      yield* sendAndOpen({ ...late, remove: back })
      const refused = yield* send(cookie, { ...late, add: pot })
      assertPage(refused, 409)
      assert.match(
        alertIn(refused),
        / changed the gallery after you opened it\. Nothing was overwritten\. Below is the gallery as it is now\. You wanted to add Pot\. Add it now$/
      )
      const taken = yield* send(cookie, { ...late, remove: lid })
      assert.match(alertIn(taken), /You wanted to take Lid out\. Take it out now$/)
      const form = yield* openForm(gallery)
      assertNotThere(yield* send(cookie, { ...form, add: stove }))
      assertNotThere(yield* send(cookie, { ...form, remove: pot }))
      // An empty value counts as not given, so this form names no picture.
      for (const put of ["", `${pot} 1 x`]) assertNotThere(yield* send(cookie, { ...form, put }))
      for (const put of ["x 1 -", `${pot} x -`, `${pot} 1`])
        assertRefusal(yield* send(cookie, { ...form, put }), 400, {
          title: "Not understood",
          message: "The form names no place for a picture. Open the page again and repeat it there.",
          next: ["/", "To the start page"]
        })
      yield* Effect.gen(function* () {
        const many = yield* Effect.forEach(
          Array.from({ length: 250 }, (_, index) => index),
          (index) => anEntity("media", { url: `https://shop.example/many-${index}.jpg` })
        )
        yield* (yield* CatalogChanges).apply([
          CatalogChange.SetGallery({ entityId: stove, entries: many.map((mediaId) => ({ mediaId, storeIds: [] })) })
        ])
      }).pipe(actingAs(actor))
      const full = yield* send(cookie, { ...(yield* openForm(gallery)), add: front })
      assertPage(full, 400)
      assert.include(alertIn(full), "must have at most 250 media files")
    })
  )

  it.effect("two people order one gallery: the newer draft is shown, never overwritten", () =>
    Effect.gen(function* () {
      const gallery = yield* aGallery
      const { accountId, back, cookie, front, lid, side, stove } = gallery
      const email = `other-${stove}@example.com`
      const other = yield* aBrowser(accountId, email)
      const mine = yield* openForm(gallery)
      const theirs = yield* openForm({ cookie: other.cookie, stove })
      assert.strictEqual((yield* send(other.cookie, { ...theirs, move: `${lid} 0` })).status, 303)
      const refused = yield* send(cookie, { ...mine, move: `${front} 2` })
      assertPage(refused, 409)
      assert.strictEqual(
        alertIn(refused),
        `${email} changed the gallery after you opened it. Nothing was overwritten. Below is the gallery as it is now. You wanted Front as picture 3. Move it to place 3 now`
      )
      assert.match(refused.text, /<button type="submit" autofocus>Move it to place 3 now/)
      assert.deepStrictEqual(namesIn(refused), ["Lid", "Front", "Side &amp; more", "Back"])
      assert.deepStrictEqual(
        (yield* stored(gallery)).map(([id]) => id),
        [lid, front, side, back]
      )
      const again = sectionsOf(refused.text, "/entity/gallery").hidden
      assert.strictEqual((yield* send(cookie, again)).status, 303)
      assert.deepStrictEqual(
        (yield* stored(gallery)).map(([id]) => id),
        [lid, side, front, back]
      )
      // The undo of one who did not see the newer draft is refused too, and so is a choice of stores, which stays.
      const late = yield* send(other.cookie, { ...theirs, picture: lid })
      assertPage(late, 409)
      assert.include(alertIn(late), "Your choice of stores is still below.")
      assert.notMatch(/<li id="picture-[^>]*class="open".*?<\/li>/s.exec(late.text)?.[0] ?? "", / checked/)
      // Other fields do not matter: the form of before still moves a picture.
      const form = yield* openForm(gallery)
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.SetAttributes({ entityId: stove, values: { vendor: "Tarn" } })])
      ).pipe(actingAs(gallery.actor))
      assert.strictEqual((yield* send(cookie, { ...form, move: `${back} 0` })).status, 303)
      // A picture that somebody took out.
      const last = yield* openForm(gallery)
      yield* Effect.flatMap(CatalogChanges, ({ apply }) =>
        apply([CatalogChange.SetGallery({ entityId: stove, entries: [{ mediaId: lid, storeIds: [] }] })])
      ).pipe(actingAs(gallery.actor))
      const gone = yield* send(cookie, { ...last, move: `${back} 1` })
      assert.strictEqual(
        alertIn(gone),
        "Command line changed the gallery after you opened it. Nothing was overwritten. Below is the gallery as it is now. The picture that you changed is not in it any more."
      )
    })
  )

  it.effect("if many people move a picture at once, one move is saved and the others see the newer order", () =>
    Effect.gen(function* () {
      const gallery = yield* aGallery
      const { cookie, front } = gallery
      const rounds = 5
      const people = 6
      for (let round = 0; round < rounds; round++) {
        const form = yield* openForm(gallery)
        const before = yield* stored(gallery)
        const from = before.findIndex(([id]) => id === front)
        const places = [0, 1, 2, 3].filter((place) => place !== from)
        const answers = yield* Effect.forEach(
          Array.from({ length: people }, (_, index) => places[index % places.length] ?? 0),
          (place) => Effect.map(send(cookie, { ...form, move: `${front} ${place}` }), ({ status }) => [status, place]),
          { concurrency: "unbounded" }
        )
        const saved = answers.filter(([status]) => status === 303)
        assert.lengthOf(saved, 1, JSON.stringify(answers))
        assert.lengthOf(
          answers.filter(([status]) => status === 409),
          people - 1
        )
        assert.strictEqual(Number(form.draft_revision) + 1, yield* revision(gallery))
        assert.strictEqual(
          (yield* stored(gallery)).findIndex(([id]) => id === front),
          saved[0]?.[1]
        )
      }
    })
  )

  it.effect("refuses malformed forms, forms of others, and every change during an import", () =>
    Effect.gen(function* () {
      const gallery = yield* aGallery
      const { back, cookie, front, stove } = gallery
      const stranger = yield* aMerchant
      const form = yield* openForm(gallery)
      const move = { ...form, move: `${front} 2` }
      const before = yield* revision(gallery)
      for (const bad of [
        "",
        "x 1",
        `${front} 1 across`,
        `${front}`,
        `${front} -1`,
        `${front} 1.5`,
        `${front} 123456`
      ]) {
        const answer = yield* send(cookie, { ...form, move: bad })
        assert.strictEqual(answer.status, bad === "" ? 404 : 400, bad)
      }
      for (const bad of [`${front} 4`, `${stranger.stove} 0`])
        assertNotThere(yield* send(cookie, { ...form, move: bad }))
      for (const id of [stranger.stove, "x", ""])
        assert.include([404, 409], (yield* send(cookie, { ...move, id })).status)
      for (const draft_revision of ["", "two", "1.5"])
        assert.strictEqual((yield* send(cookie, { ...move, draft_revision })).status, 400)
      const theirs = csrfOf(yield* ask("/stores", { cookie: stranger.cookie }))
      const unproven = Object.fromEntries(Object.entries(move).filter(([name]) => name !== "csrf"))
      for (const each of [unproven, { ...move, csrf: theirs }]) assertForeignForm(yield* send(cookie, each))
      assert.strictEqual(yield* revision(gallery), before)
      yield* aReview(gallery)
      const locked = yield* send(cookie, { ...(yield* openForm(gallery)), move: `${back} 0` })
      assertPage(locked, 423)
      assert.match(alertIn(locked), /^Not saved: an import has locked the catalog\./)
      assert.deepStrictEqual(namesIn(locked), ["Front", "Side &amp; more", "Back", "Lid"])
      assert.include(stove, "-")
    })
  )
})

const assertNoEffect = (answer: Answer) => assert.strictEqual(answer.status, 403, answer.text)
