import { assert, layer } from "@effect/vitest"
import { Effect, Option } from "effect"
import { countName } from "../../src/console/jobs/JobWords.tsx"
import { wordsIn } from "../../src/console/languages/Words.tsx"
import { JobCount } from "../../src/jobs/Job.ts"
import { Jobs } from "../../src/jobs/Jobs.ts"
import { JobsRepo } from "../../src/jobs/JobsRepo.ts"
import { actingAs } from "../../src/testing/index.ts"
import { ask, PagesServer, withNote } from "../oauth/PagesServer.ts"
import { aFailure, aMerchant, csrfOf } from "./Merchant.ts"
import { assertPage } from "./WholePage.ts"

const profilePath = "/settings/profile"

/** Chooses a language and a zone on the profile. */
const choose = (cookie: string, language: string, zone: string) =>
  Effect.gen(function* () {
    const csrf = csrfOf(yield* ask(profilePath, { cookie }))
    const saved = yield* ask(profilePath, { cookie, form: { csrf, language, time_zone: zone } })
    assert.strictEqual(saved.headers.get("location"), `${profilePath}?note=saved`)
  })

/** Words of the pages: of the frame, Home, the list of products and the page of a product. */
const expected = {
  de: {
    frame: ['<html lang="de" dir="ltr"', "Produkte suchen", "Einstellungen", "Abmelden"],
    home: ["<h1>Start</h1>", "Zu erledigen", "<strong>1 fehlgeschlagen</strong> beim Veröffentlichen in", "1-mal: "],
    products: ["<h1>Produkte</h1>", "Weitere Filter", "2 Zeilen auf dieser Seite", "Feld setzen", ">Fehlgeschlagen<"],
    savedView: ["Die Ansicht ist gespeichert."],
    imported: ["Neu <", ">Neu<"],
    product: ["Verlauf", "Revision ", "Aus dem Katalog", "Nichts zu veröffentlichen", "EUR", ">Angelegt<"],
    drops: ["<h1>Drops</h1>", "Geplant und laufend"],
    newDrop: ["<h1>Drop planen</h1>"],
    health: ["<h1>Datenqualität</h1>", "Vollständigkeit", "Noch nicht geprüft."],
    issues: ["<h1>Veröffentlichen fehlgeschlagen</h1>", "Noch nicht geprüft."],
    webhooks: ["<h1>Webhooks</h1>", "Es gibt noch keine Webhooks."],
    refused: ["Nicht gefunden", "Diesen Eintrag gibt es nicht."]
  },
  zh: {
    frame: ['<html lang="zh" dir="ltr"', "搜索商品", "设置", "退出登录"],
    home: ["<h1>首页</h1>", "待您处理", "<strong>1 项失败</strong>：发布到"],
    products: ["<h1>商品</h1>", "更多筛选条件", "本页 2 行", "设置字段", ">失败<"],
    savedView: ["视图已保存。"],
    imported: ["新增 <", ">新增<"],
    product: ["历史记录", "修订版 ", "没有需要发布的内容", ">已创建<"],
    drops: ["<h1>定时活动</h1>", "已安排和进行中"],
    newDrop: ["<h1>安排定时活动</h1>"],
    health: ["<h1>数据质量</h1>", "完整性", "尚未扫描。"],
    issues: ["<h1>发布失败</h1>", "尚未扫描。"],
    webhooks: ["<h1>Webhook</h1>", "还没有 Webhook。"],
    refused: ["未找到", "没有此记录。"]
  },
  ar: {
    frame: ['<html lang="ar" dir="rtl"', "ابحث في المنتجات", "الإعدادات", "تسجيل الخروج"],
    home: ["<h1>الرئيسية</h1>", "بحاجة إليك", "مرة واحدة: "],
    products: ["<h1>المنتجات</h1>", "المزيد من عوامل التصفية", "صفان في هذه الصفحة", "ضبط حقل", ">فشل<"],
    savedView: ["حُفظ العرض."],
    imported: ["جديد <", ">جديد<"],
    product: ["السجل", "المراجعة ", "لا شيء للنشر", ">أُنشئ<"],
    drops: ["<h1>الحملات</h1>", "المجدولة والجارية"],
    newDrop: ["<h1>جدولة حملة</h1>"],
    health: ["<h1>جودة البيانات</h1>", "الاكتمال", "لم يُفحص بعد."],
    issues: ["<h1>فشل النشر</h1>", "لم يُفحص بعد."],
    webhooks: ["<h1>الويب هوك</h1>", "لا يوجد ويب هوك بعد."],
    refused: ["غير موجود", "لا يوجد سجل كهذا."]
  }
} as const

const assertIncludes = (text: string, words: ReadonlyArray<string>) => {
  for (const each of words) assert.include(text, each)
}

layer(PagesServer, { excludeTestServices: true })((it) => {
  for (const language of ["de", "zh", "ar"] as const)
    it.effect(`the pages are in the language of the profile: ${language}`, () =>
      Effect.gen(function* () {
        const merchant = yield* aMerchant
        const { cookie } = merchant
        yield* aFailure(merchant)
        yield* choose(cookie, language, "Asia/Dubai")
        const words = expected[language]
        // The profile wins over the browser's language.
        const read = (path: string) =>
          ask(path, { cookie: withNote(cookie, path), headers: { "accept-language": "en" } })
        for (const [path, own] of [
          ["/", words.home],
          ["/products", words.products],
          [`/entity?id=${merchant.tent}`, words.product],
          [profilePath, []]
        ] as const) {
          const page = yield* read(path)
          assertPage(page)
          assertIncludes(page.text, [...words.frame, ...own])
        }
        for (const [path, own] of [
          ["/products?note=view-saved", words.savedView],
          [`/import?id=${merchant.firstImport}&list=new`, words.imported],
          ["/drops", words.drops],
          ["/drops/new", words.newDrop],
          ["/data-health", words.health],
          ["/data-health/issues?section=sync-failed", words.issues],
          ["/settings/webhooks", words.webhooks]
        ] as const) {
          const page = yield* read(path)
          assertPage(page)
          assertIncludes(page.text, [words.frame[0], ...own])
        }
        const absent = yield* read("/entity?id=00000000-0000-4000-8000-000000000000")
        assertPage(absent, 404)
        assertIncludes(absent.text, [words.frame[0], ...words.refused])
        // Times are written as the language does, in the zone of the profile.
        const shown = yield* read(`/entity?id=${merchant.tent}`)
        const [, at = "", time] = /<time dateTime="([^"]+)">([^<]+)<\/time>/i.exec(shown.text) ?? []
        const written = new Intl.DateTimeFormat(language, {
          ...({ year: "numeric", month: "short", day: "numeric", timeZone: "Asia/Dubai" } as const),
          ...({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const)
        }).format(Date.parse(at))
        assert.strictEqual(time, `${written} Asia/Dubai`)
      })
    )

  for (const [language, product, item] of [
    ["de", "Produkt", "Eintrag"],
    ["zh", "商品", "条目"],
    ["ar", "منتج", "العنصر"]
  ] as const)
    it.effect(`the page of a job names all counts and the kinds of refused items in ${language}`, () =>
      Effect.gen(function* () {
        const { accountId, actor, cookie } = yield* aMerchant
        yield* choose(cookie, language, "")
        const jobs = yield* Jobs
        const repo = yield* JobsRepo
        const { id } = yield* jobs
          .begin({ kind: "publish_waiting", title: "Job", subject: null, input: {}, total: 4 })
          .pipe(actingAs(actor))
        const claimed = Option.getOrThrow(yield* repo.claim({ accountId, id }, 30))
        const counts = Object.fromEntries(JobCount.literals.map((name, index) => [name, index + 1]))
        const errors = ["product Trek & Pack", "entity 42"].map((item) => ({ item, message: "it no longer exists" }))
        yield* repo.save(claimed, { cursor: null, done: 4, counts, errors }, 30)
        const { text } = yield* ask(`/jobs/${id}`, { cookie })
        const t = wordsIn(language)
        const names = JobCount.literals.map((name) => countName(t, name))
        assert.strictEqual(new Set(names).size, names.length)
        for (const [index, name] of names.entries()) {
          assert.notStrictEqual(name, countName(wordsIn("en"), JobCount.literals[index] ?? ""))
          assert.include(text, `<dt>${name}</dt><dd>${t.number(index + 1)}</dd>`)
        }
        const gone = t.say("it no longer exists")
        assert.notStrictEqual(gone, "it no longer exists")
        assert.include(
          text,
          `<li>${product} <bdi>Trek &amp; Pack</bdi>: ${gone}</li><li>${item} <bdi>42</bdi>: ${gone}</li>`
        )
      })
    )

  it.effect("two users of different languages at the same time each get their own", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* aMerchant, yield* aMerchant]
      yield* choose(one.cookie, "ar", "")
      yield* choose(other.cookie, "de", "")
      const pages = yield* Effect.forEach([one, other, one, other], ({ cookie }) => ask("/products", { cookie }), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        pages.map(({ text }) => /<html lang="(\w+)"/.exec(text)?.[1]),
        ["ar", "de", "ar", "de"]
      )
    })
  )

  it.effect("without a user the pages are in the language that the browser prefers", () =>
    Effect.gen(function* () {
      for (const [accepted, lang, words] of [
        ["ar-EG,en;q=0.5", 'lang="ar" dir="rtl"', "تسجيل الدخول"],
        ["de-CH", 'lang="de" dir="ltr"', "Passwort vergessen?"],
        ["fr", 'lang="en" dir="ltr"', "Forgotten your password?"]
      ] as const) {
        const headers = { "accept-language": accepted }
        const signIn = yield* ask("/sign-in", { headers })
        assertPage(signIn)
        assertIncludes(signIn.text, [lang, words])
      }
      const headers = { "accept-language": "de" }
      const refused = yield* ask("/sign-in", {
        headers,
        form: { email: "nobody@example.com", password: "wrong one 1" }
      })
      assertPage(refused, 403)
      assert.include(refused.text, "E-Mail oder Passwort ist falsch.")
      const absent = yield* ask("/nowhere", { headers: { ...headers, accept: "text/html" } })
      assertPage(absent, 404)
      assertIncludes(absent.text, ["Seite nicht gefunden", "Unter dieser Adresse gibt es keine Seite."])
    })
  )

  it.effect("refusals at fields and of roles are in the user's language", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { cookie } = merchant
      yield* choose(cookie, "de", "")
      const page = yield* ask(profilePath, { cookie })
      const refused = yield* ask("/settings/profile/password", {
        cookie,
        form: { csrf: csrfOf(page), current: "wrong one 1", password: "tern over tarn 2" }
      })
      assertPage(refused, 403)
      assert.include(refused.text, "Das aktuelle Passwort ist falsch.")
      const review = yield* ask("/entity/review", {
        cookie,
        form: { csrf: csrfOf(page), id: merchant.tent, draft_revision: "1" }
      })
      assertPage(review, 400)
      assert.include(review.text, "Es wurde nichts veröffentlicht: Wählen Sie mindestens einen Shop.")
      const foreign = yield* ask(profilePath, { cookie, form: { csrf: "wrong", language: "de", time_zone: "" } })
      assertPage(foreign, 403)
      assert.include(foreign.text, "Dieses Formular kam nicht von einer Seite dieses Dienstes.")
    })
  )
})
