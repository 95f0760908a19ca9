import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { IntlMessageFormat } from "intl-messageformat"
import ts from "typescript"
import ar from "../../src/console/languages/ar.json" with { type: "json" }
import de from "../../src/console/languages/de.json" with { type: "json" }
import { acceptedLanguage } from "../../src/console/languages/Language.ts"
import { wordsIn } from "../../src/console/languages/Words.tsx"
import zh from "../../src/console/languages/zh.json" with { type: "json" }
import { whyLocked } from "../../src/imports/Import.ts"
import { ImportId } from "../../src/model/Ids.ts"

type Sentences = Readonly<Record<string, string>>
const languages: Readonly<Record<string, Sentences>> = { de, zh, ar }

/** The folder of texts that only programs read. */
const ofPrograms = /src\/console\/events\//

const sources = readdirSync("src/console", { recursive: true, encoding: "utf8" })
  .map((path) => join("src/console", path))
  .filter((path) => /\.tsx?$/.test(path) && !path.includes("/assets/") && !ofPrograms.test(path))
  .concat("src/oauth/ConsentPage.tsx")

const parsed = (path: string, text = readFileSync(path, "utf8")) =>
  ts.createSourceFile(
    path,
    text,
    ts.ScriptTarget.Latest,
    true,
    path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  )

const walk = (node: ts.Node, visit: (node: ts.Node) => void): void => {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}

/** The texts that an expression can have, as far as it names them. */
const textsOf = (node: ts.Expression): ReadonlyArray<string> =>
  ts.isStringLiteralLike(node)
    ? [node.text]
    : ts.isConditionalExpression(node)
      ? [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)]
      : ts.isParenthesizedExpression(node)
        ? textsOf(node.expression)
        : []

/** Whether a text is the name of a member, not its value. */
const isKey = (node: ts.Node) => ts.isPropertyAssignment(node.parent) && node.parent.name === node

/**
 * The sentences that a source passes to the translator, those of its errors (`title`, `message`,
 * `sentence`), and all other texts that look like a sentence.
 */
const sentencesIn = (source: ts.SourceFile): ReadonlyArray<string> => {
  const found = new Set<string>()
  const add = (text: string) => found.add(text)
  walk(source, (node) => {
    if (ts.isCallExpression(node) && /^t(\.rich|\.say)?$/.test(node.expression.getText(source)))
      node.arguments.slice(0, 1).flatMap(textsOf).forEach(add)
    if (ts.isStringLiteralLike(node) && !isKey(node) && /^[A-Z][a-z]+ .*[.?:]$/s.test(node.text)) add(node.text)
    if (ts.isPropertyAssignment(node) && /^(title|message|sentence)$/.test(node.name.getText(source)))
      textsOf(node.initializer).forEach(add)
  })
  return [...found]
}

/** All texts that a source names. */
const literalsIn = (source: ts.SourceFile): ReadonlyArray<string> => {
  const found: Array<string> = []
  walk(source, (node) => {
    if (ts.isStringLiteralLike(node)) found.push(node.text)
  })
  return found
}

/** Sentences without a translation. */
const missingIn = (source: ts.SourceFile, sentences: Sentences) =>
  sentencesIn(source).filter((sentence) => !Object.hasOwn(sentences, sentence))

type Element = ReturnType<IntlMessageFormat["getAst"]>[number]

/** The placeholders and tags of a message. */
const placeholdersOf = (elements: ReadonlyArray<Element>): ReadonlyArray<string> =>
  elements.flatMap((element) => [
    ...("value" in element && element.type !== 0 ? [`${"children" in element ? "tag " : ""}${element.value}`] : []),
    ...("children" in element ? placeholdersOf(element.children) : []),
    ...("options" in element ? Object.values(element.options).flatMap(({ value }) => placeholdersOf(value)) : [])
  ])

const namesOf = (message: string, language: string) =>
  [...new Set(placeholdersOf(new IntlMessageFormat(message, language).getAst()))].sort()

it("every sentence of the pages has a translation into each language", () => {
  const all = sources.map((path) => parsed(path))
  assert.isAbove(all.flatMap(sentencesIn).length, 300)
  for (const [language, sentences] of Object.entries(languages))
    assert.deepStrictEqual(
      all.flatMap((source) => missingIn(source, sentences)),
      [],
      language
    )
})

it("a sentence without a translation is found", () => {
  const planted = parsed("Planted.tsx", 'const A = () => <p>{isNew ? t("Save") : t.rich("Nobody wrote this.")}</p>')
  assert.deepStrictEqual(missingIn(planted, de), ["Nobody wrote this."])
})

/** Words of services that the command line shares. They come to the pages as text. */
const ofServices = [
  /** The names of the roles. */
  ...["View", "Edit", "Publish", "Administrator"],
  /** What each role may do. */
  "See products, stores, imports and data health, without changing anything.",
  "Also change drafts, import products and repair data.",
  "Also publish to stores, schedule drops and control jobs.",
  "Also manage the team, API keys, webhooks and the agents of others.",
  /** The permissions of agents. */
  ...["Read and edit drafts", "Read, edit and publish"],
  /** What each of them may do. */
  "See your products, stores and data health, without changing anything.",
  "Also change drafts of your products. They reach a store only when somebody publishes them.",
  "Also publish to your stores.",
  /** Refusals after the consent to an agent. */
  ...["This cannot continue", "You are not signed in"],
  "Your session has ended. Start again from the app that sent you.",
  /** What to do about a webhook. */
  "Deliveries are repeated automatically, up to six hours apart. After you have repaired the receiver, replay the webhook: it continues at once.",
  "Repair the receiver, then replay the webhook. It continues at the change where it stopped, for up to 30 days.",
  "The receiver answered 410: it wants no more messages. Replay the webhook if that was a mistake, or delete it.",
  "Some changes were not delivered within 30 days, so the feed has deleted them. Read all lists again, then replay the webhook from `latest`.",
  /** The authors of jobs. */
  ...["the service", "the command line"],
  /** Why a mail was not delivered. */
  "the mail server refuses the sign-in of this service",
  "the mail server cannot be reached",
  "the mail server did not answer in time",
  "the mail cannot be sent",
  "E-mail or password is wrong.",
  "The current password is wrong.",
  "This code is wrong or was used already. Enter the newest code of your app.",
  "This sign-in has expired. Enter your e-mail and password again.",
  "This link is no longer valid: it was used, has expired, or was replaced by a newer one. Ask an administrator of your account for a new one.",
  "This e-mail address belongs to a user of another account. Sign in there, or, if you are disabled there, ask to be invited with another address."
]

it("no language has a sentence that no page uses, and all have the same placeholders", () => {
  const used = new Set([...sources.flatMap((path) => literalsIn(parsed(path))), ...ofServices])
  for (const [language, sentences] of Object.entries(languages)) {
    assert.deepStrictEqual(
      Object.keys(sentences).filter((sentence) => !used.has(sentence)),
      [],
      language
    )
    for (const [sentence, translated] of Object.entries(sentences))
      assert.deepStrictEqual(namesOf(translated, language), namesOf(sentence, "en"), `${language}: ${sentence}`)
  }
})

it("the words of services are the ones that the services say", () => {
  const services = [
    ...["src/access/Mailer.ts", "src/access/SignIns.ts", "src/access/SecondFactors.ts"],
    ...["src/connections/Tier.ts", "src/jobs/Job.ts", "src/model/Role.ts"],
    ...["src/oauth/AuthorizationServer.tsx", "src/webhooks/Webhook.ts"]
  ]
  const said = new Set(services.flatMap((path) => literalsIn(parsed(path))))
  assert.deepStrictEqual(
    ofServices.filter((words) => !said.has(words)),
    []
  )
})

it("numbers follow the plural rules of the language", () => {
  const changes = "{count, plural, one {# change} other {# changes}}"
  const written = (language: "en" | "de" | "zh" | "ar") =>
    [0, 1, 2, 3, 11, 100].map((count) => wordsIn(language)(changes, { count }))
  assert.deepStrictEqual(written("en"), [
    "0 changes",
    "1 change",
    "2 changes",
    "3 changes",
    "11 changes",
    "100 changes"
  ])
  assert.deepStrictEqual(written("de").slice(1, 3), ["1 Änderung", "2 Änderungen"])
  assert.deepStrictEqual(written("zh").slice(1, 3), ["1 处更改", "2 处更改"])
  // Arabic has six forms.
  assert.lengthOf(new Set(written("ar").map((text) => text.replace(/\d+/, ""))), 6)
  for (const [sentence, translated] of Object.entries(ar))
    if (sentence.includes(", plural,"))
      for (const form of ["zero", "one", "two", "few", "many", "other"])
        assert.include(translated, ` ${form} {`, sentence)
})

it("a value in a text from right to left keeps its direction", () => {
  assert.strictEqual(wordsIn("ar")("Edit {cell}", { cell: "SKU-1" }), "تعديل \u2068SKU-1\u2069")
  assert.strictEqual(wordsIn("de")("Edit {cell}", { cell: "SKU-1" }), "SKU-1 bearbeiten")
})

it("numbers and money are written as the language does", () => {
  assert.strictEqual(wordsIn("en").number(12_345), "12,345")
  assert.strictEqual(wordsIn("de").number(12_345), "12.345")
  assert.strictEqual(wordsIn("de").amount("1299.50"), "1.299,50")
  assert.strictEqual(wordsIn("de").money("1299.5", "EUR").replace("\u00a0", " "), "1.299,50 EUR")
  // Text that is no amount is not changed.
  assert.strictEqual(wordsIn("de").amount("12 to 15"), "12 to 15")
  assert.strictEqual(wordsIn("de").money("12 to 15", "EUR"), "EUR 12 to 15")
})

it("a browser's preferred language is the first that the pages have", () => {
  for (const [header, language] of [
    [undefined, "en"],
    ["", "en"],
    ["*", "en"],
    ["fr", "en"],
    ["de-AT,de;q=0.9,en;q=0.8", "de"],
    ["fr,ar-EG;q=0.5,de;q=0.4", "ar"],
    ["en;q=0.1, zh-Hant-TW;q=0.7", "zh"],
    ["de;q=0, ar;q=0.2", "ar"],
    ["ar; q=0.2 , DE ;Q=0.3", "de"]
  ] as const)
    assert.strictEqual(acceptedLanguage(header), language, header)
})

/** Names of products, keys of the keyboard and formats: the same in every language. */
const sameEverywhere: ReadonlyArray<string> = ["UTC"]

/** Texts of elements that do not pass the translator. */
const bareTextsIn = (source: ts.SourceFile): ReadonlyArray<string> => {
  const found: Array<string> = []
  walk(source, (node) => {
    if (ts.isJsxText(node) && /\p{L}/u.test(node.text)) found.push(node.text.trim())
    if (
      ts.isJsxAttribute(node) &&
      /^(aria-label|title|placeholder|label|alt)$/.test(node.name.getText(source)) &&
      node.initializer !== undefined &&
      ts.isStringLiteral(node.initializer) &&
      /\p{L}/u.test(node.initializer.text)
    )
      found.push(node.initializer.text)
  })
  return found.filter((text) => !sameEverywhere.includes(text))
}

it("no element has English text that bypasses the translator", () => {
  assert.deepStrictEqual(
    sources.flatMap((path) => bareTextsIn(parsed(path)).map((text) => `${path}: ${text}`)),
    []
  )
  const planted = parsed("Planted.tsx", '<a title="Open" href="/"><b>{t("Save")}</b> or not</a>')
  assert.deepStrictEqual(bareTextsIn(planted), ["Open", "or not"])
})

/** Services whose messages pages show, each with the texts that only the command line, the REST API or the log show. */
const withMessages: Readonly<Record<string, ReadonlyArray<string>>> = {
  "src/access/AttemptLimits.ts": [],
  "src/access/Email.ts": [],
  "src/access/Mailer.ts": ["A mail could not be sent by the server of SMTP_URL: X1", "A mail could not be sent again"],
  "src/access/SecondFactors.ts": ["is not being set up: begin again"],
  "src/access/SignIns.ts": [],
  "src/access/Users.ts": ["must be admin for the first user of an account"],
  "src/bulk/BulkJobs.ts": ["The job has a list of entities already."],
  "src/drafts/Creation.ts": [
    "must name the option by which the variants differ, because the product has none",
    "an entity with this id exists already"
  ],
  "src/drops/DropExecution.ts": ["Step X1 of drop X1 failed"],
  "src/drops/Drops.ts": ["Looking for due drops failed"],
  "src/health/ScanJobs.ts": [],
  "src/drops/Discount.ts": [],
  "src/drops/Drop.ts": [
    ...["null: all stores of the entity.", "A built-in key, or `namespace.key` of a metafield."],
    ...["Always a string; lists and objects are JSON in a string.", "Why it failed; else null."],
    "null: no outcome yet. `skipped`: the field was edited meanwhile, so the end of the drop did not change it.",
    ...["null: the new values stay.", "IANA name, for display."]
  ],
  "src/drops/DropStep.ts": [],
  "src/imports/Import.ts": ["Cost per item", "Variant Inventory Policy"],
  "src/imports/ImportComparison.ts": [],
  "src/imports/ImportDecisions.ts": [],
  "src/imports/ImportFailures.ts": [],
  "src/imports/ImportJobs.ts": [],
  "src/imports/ImportReview.ts": [],
  "src/imports/ImportSources.ts": [],
  "src/imports/ImportedMetafields.ts": [],
  "src/imports/ImportedProduct.ts": [],
  "src/imports/Imports.ts": [],
  "src/imports/csv/ShopifyCsv.ts": [],
  // The rule of the item follows.
  "src/imports/csv/ShopifyCsvCells.ts": ["Each item of the listX1."],
  "src/imports/csv/ShopifyCsvColumns.ts": [
    ...["Published on online store", "Variant Compare At Price", "Weight value (grams)", "Variant Weight Unit"],
    ...["Weight unit for display", "Variant Requires Shipping", "Variant image URL", "Product image URL"],
    ...["Image Alt Text", "Image alt text", "On hand (current)", "On hand (new)", "Available (not editable)"]
  ],
  "src/imports/csv/ShopifyCsvProducts.ts": [],
  "src/imports/refresh/RecordMatching.ts": [],
  "src/imports/refresh/RefreshComparison.ts": [],
  "src/imports/refresh/StoreReading.ts": [],
  "src/jobs/Job.ts": [],
  "src/jobs/Jobs.ts": ["the account has a job with this id already"],
  "src/model/Definition.ts": [
    "Value type name, for example `single_line_text_field`.",
    "By domain; empty: only this account defines it."
  ],
  "src/model/KeyRule.ts": [],
  "src/platform/PlatformErrors.ts": [],
  "src/platform/UnreadRecord.ts": [],
  "src/platform/demo/DemoPlatform.ts": ["Point of Sale"],
  // The form of the store has names of its own for these.
  "src/platform/shopify/ShopifyAdapter.ts": [
    "its Admin API is used, with a token",
    "an Admin API access token of the store"
  ],
  "src/publishing/PublicationContent.ts": [],
  // The end of a message that is in the list as a whole.
  "src/publishing/PublishFailures.ts": ["The publish is tried again for up to X1."],
  "src/publishing/PublishJobs.ts": [],
  // The platform's own phrase comes first, and is in the list as a whole.
  "src/publishing/PublishRequests.ts": ["X1 X1: nothing can be published to it"],
  "src/publishing/VariantPicture.ts": [],
  // The end of another message.
  "src/stores/LinkRules.ts": [": choose from X1"],
  "src/stores/StoreAccess.ts": [],
  "src/stores/Stores.ts": [],
  "src/webhooks/Addresses.ts": []
}

/** The texts of a source with at least three words. The values of a template are "X1". */
const messagesIn = (source: ts.SourceFile): ReadonlyArray<string> => {
  const found: Array<string> = []
  const visit = (node: ts.Node): void => {
    // SQL and imports have no messages.
    if (ts.isImportDeclaration(node) || ts.isTaggedTemplateExpression(node)) return
    if (ts.isStringLiteralLike(node)) found.push(node.text)
    if (ts.isTemplateExpression(node))
      found.push(node.head.text + node.templateSpans.map(({ literal }) => `X1${literal.text}`).join(""))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found.filter((text) => (text.match(/[A-Za-z]+ /g) ?? []).length >= 2)
}

const untranslatedIn = (source: ts.SourceFile, notShown: ReadonlyArray<string>) =>
  messagesIn(source).filter((text) => !notShown.includes(text) && wordsIn("ar").say(text) === text)

it("every message of the services that pages show has a translation", () => {
  for (const [path, notShown] of Object.entries(withMessages)) {
    const source = parsed(path)
    assert.deepStrictEqual(untranslatedIn(source, notShown), [], path)
    assert.includeMembers([...messagesIn(source)], [...notShown], path)
  }
  const planted = parsed(
    "Planted.ts",
    ["const why = (n: number) => `the store has $", "{n} unknown faults`; const is = 'is on already'"].join("")
  )
  assert.deepStrictEqual(untranslatedIn(planted, []), ["the store has X1 unknown faults"])
})

it("messages of services are translated with their values, and with what stands before a rule", () => {
  for (const [text, german] of [
    ["Publish all changes to tarn.example", "Veröffentlichen in tarn.example: alle Änderungen"],
    ["Add 1 product to tarn.example", "1 Produkt zu tarn.example hinzufügen"],
    [
      "The store's platform cannot be reached: it did not answer in time. Tried 3 times.",
      "Die Plattform des Shops ist nicht erreichbar: sie hat nicht rechtzeitig geantwortet. 3-mal versucht."
    ],
    [
      "The store's platform cannot be reached: the connection failed. Tried for 24 hours.",
      "Die Plattform des Shops ist nicht erreichbar: die Verbindung ist fehlgeschlagen. 24 Stunden lang versucht."
    ],
    [
      "The store's platform cannot be reached: it did not answer in time. The publish is tried again for up to 24 hours.",
      "Die Plattform des Shops ist nicht erreichbar: sie hat nicht rechtzeitig geantwortet. Es wird bis zu 24 Stunden lang weiter versucht."
    ],
    [
      "The store's platform cannot be reached: it did not answer in time. Tried for 17 minutes.",
      "Die Plattform des Shops ist nicht erreichbar: sie hat nicht rechtzeitig geantwortet. 17 Minuten lang versucht."
    ],
    [
      "The store's platform cannot be reached: it did not answer in time. The publish is tried again for up to 15 minutes.",
      "Die Plattform des Shops ist nicht erreichbar: sie hat nicht rechtzeitig geantwortet. Es wird bis zu 15 Minuten lang weiter versucht."
    ],
    [
      "the outcomes of publishes (2 left); the store's platform does not answer",
      "zu den Ergebnissen der Veröffentlichungen (noch 2); die Plattform des Shops antwortet nicht"
    ],
    ["The price must be at least 0.", "The price: muss mindestens 0 sein."],
    ["This value must be at least 0.", "Dieser Wert: muss mindestens 0 sein."],
    ["The earlier value must be at least 0.", "Der frühere Wert: muss mindestens 0 sein."],
    ["The gallery must have at most 250 items.", "Die Galerie: darf höchstens 250 Einträge haben."],
    [
      "ada@example.com is the last administrator of the account; make somebody else administrator first.",
      "ada@example.com: ist die letzte Administration des Kontos; geben Sie zuerst jemand anderem diese Rolle."
    ],
    [
      'Line 3, column "Price": "x" is not a whole number of 0 or more.',
      'Zeile 3, Spalte "Price": "x" ist keine ganze Zahl ab 0.'
    ],
    [
      "The import could not be applied: the database refused a value (23505); 3 of 5 changes were applied.",
      "Der Import konnte nicht angewendet werden: die Datenbank hat einen Wert abgewiesen (23505); 3 von 5 Änderungen wurden angewendet."
    ],
    ["each item must be a URL", "jeder Eintrag muss eine URL sein"],
    ["Each item must have at most 255 characters.", "Jeder Eintrag: darf höchstens 255 Zeichen haben."],
    ["Title can't be blank", "Title can't be blank"]
  ] as const)
    assert.strictEqual(wordsIn("de").say(text), german)
  assert.strictEqual(
    wordsIn("de")("Refused: {problem}.", { problem: "the job is done: only a paused or failed job can be resumed" }),
    "Abgelehnt: der Auftrag ist im Zustand „fertig“: Nur ein pausierter oder fehlgeschlagener Auftrag kann fortgesetzt werden."
  )
})

it("messages that name commands name pages instead, in English too", () => {
  const id = "01890a5d-ac96-774b-bcce-b302099a8057"
  for (const [text, shown] of [
    [
      `import: ${whyLocked({ id: ImportId.make(id), isPaused: false, phase: "reviewing" })}`,
      "An import is under review: accept or discard it on the page Imports first."
    ],
    [
      whyLocked({ id: ImportId.make(id), isPaused: false, phase: "applying" }),
      "An import is being applied: see the page Imports, and try again when it is done."
    ],
    [
      whyLocked({ id: ImportId.make(id), isPaused: false, phase: "fetching" }),
      "An import is being compared with the catalog: accept or discard it on the page Imports when it is under review."
    ],
    [
      whyLocked({ id: ImportId.make(id), isPaused: true, phase: "applying" }),
      "An import is paused while it is applied: resume or cancel its job on the page Jobs first."
    ],
    [
      "The store has no saved access token: link the store again with `catalog store link --domain D --token T`.",
      "The store has no saved token or credentials: an administrator replaces them on the page Stores."
    ],
    [
      "The store's platform refused the request (DEMO_REFUSED): The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it.",
      "The store's platform refused the request (DEMO_REFUSED): The demo shop was told to refuse: ask the operator of this service to repair it."
    ],
    ["The store's platform took too long.", "The store's platform took too long."]
  ] as const)
    assert.strictEqual(wordsIn("en").say(text), shown)
})
