import { Args, Command, Options } from "@effect/cli"
import { Effect, Option } from "effect"
import { AdminClient } from "../admin/AdminClient.ts"
import { DivergenceRules } from "../drafts/Divergence.ts"
import {
  defaultRules,
  dimensionOf,
  HealthDimension,
  type HealthIssue,
  type HealthIssuePage,
  type HealthResult,
  type HealthRules,
  HealthSection,
  type HealthSnapshot,
  isPerStore,
  StructureRules
} from "../health/Health.ts"
import { EntityKind } from "../model/Attribute.ts"
import { withAdmin } from "./CommandRuntime.ts"
import { choiceArgument, integerOption, textOption } from "./Flags.ts"
import { account, answer, byPlace, hint, json, quoted, Refused, seconds } from "./Output.ts"
import { followEvents, makeProgressText } from "./ProgressLine.ts"

const store = Options.optional(
  textOption("store", "DOMAIN", "Limit to this store, by domain or id (per-store dimensions only).")
)

const barWidth = 20

/** A bar that shows a score from 0 to 100. It is full only at 100. */
const bar = (score: number) => {
  const filled = Math.floor((score * barWidth) / 100)
  return `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`
}

/** ANSI colour codes of scores on terminals. */
const colours = { good: 32, fair: 33, poor: 31, unknown: 2 } as const
const paint = (score: number | undefined, text: string) => {
  const colour = score === undefined ? "unknown" : score >= 90 ? "good" : score >= 60 ? "fair" : "poor"
  return `\u001b[${colours[colour]}m${text}\u001b[0m`
}

const nameWidth = Math.max(...HealthDimension.literals.map((name) => name.length))

/** The share of recommended fields that are filled. The score does not include them. */
const recommendedOf = (result: HealthResult): string => {
  const [level] = "by_level" in result ? (result.by_level ?? []).filter(({ level }) => level === "recommended") : []
  return level === undefined || level.checked === 0
    ? ""
    : `; recommended fields ${level.score}% (${level.affected} of ${level.checked} affected)`
}

/** One line per dimension: bar, score, and the sections that have issues. */
const tableOf = (snapshots: ReadonlyArray<HealthSnapshot>): ReadonlyArray<string> =>
  snapshots.map((snapshot) => {
    const name = snapshot.dimension.padEnd(nameWidth)
    if (!snapshot.scanned) return `${name}  ${paint(undefined, "·".repeat(barWidth))}     –  never scanned`
    const { affected, by_section, checked, score } = snapshot.result
    const rows = by_section
      .filter(({ rows }) => rows > 0)
      .map(({ rows, section }) => `${section.slice(snapshot.dimension.length + 1) || "rows"} ${rows}`)
    const summary =
      checked === 0
        ? "nothing to check"
        : `${affected} of ${checked} affected${rows.length === 0 ? "" : `: ${rows.join(", ")}`}${recommendedOf(snapshot.result)}`
    return `${name}  ${paint(score, bar(score))}  ${`${score}`.padStart(3)}%  ${summary}`
  })

const scanTimeLines = (
  snapshots: ReadonlyArray<HealthSnapshot>,
  account: Option.Option<string>
): ReadonlyArray<string> => {
  const times = snapshots.flatMap((snapshot) => (snapshot.scanned ? [seconds(snapshot.scanned_at)] : [])).sort()
  const [oldest] = times
  const newest = times.at(-1)
  if (oldest === undefined || newest === undefined) return [`Next: ${hint("health scan", account)}`]
  const scanned = oldest === newest ? `Scanned ${oldest}.` : `Scanned between ${oldest} and ${newest}.`
  const worst = snapshots
    .flatMap((snapshot) => (snapshot.scanned ? snapshot.result.by_section : []))
    .reduce<{ readonly section: string; readonly rows: number } | undefined>(
      (largest, each) => (each.rows > (largest?.rows ?? 0) ? each : largest),
      undefined
    )
  return [scanned, ...(worst === undefined ? [] : [`Next: ${hint(`health issues ${worst.section}`, account)}`])]
}

const show = ({
  account,
  json,
  store
}: {
  readonly account: Option.Option<string>
  readonly json: boolean
  readonly store: Option.Option<string>
}) =>
  Effect.gen(function* () {
    const overview = yield* (yield* AdminClient).showHealth({ account, store })
    yield* answer(json, overview, [...tableOf(overview.dimensions), ...scanTimeLines(overview.dimensions, account)])
  }).pipe(withAdmin)

const scan = Command.make(
  "scan",
  {
    dimension: Args.optional(
      choiceArgument("DIMENSION", HealthDimension.literals, "The dimension to scan. Default: all.")
    ),
    store,
    account,
    json
  },
  ({ account, dimension, json, store }) =>
    Effect.gen(function* () {
      const client = yield* AdminClient
      const toScan = Option.match(dimension, {
        onNone: () => HealthDimension.literals,
        onSome: (one): ReadonlyArray<HealthDimension> => [one]
      })
      const text = makeProgressText()
      const dimensions = yield* Effect.forEach(toScan, (each) =>
        followEvents(client.scanHealth({ account, dimension: each, store }), {
          progress: (progress, now) => text({ ...progress, step: each, items: "entities" }, now),
          interrupted: () => "Interrupted. The next scan continues where this one ended.",
          unknown: "Scan again: the next scan continues where this one ended."
        }).pipe(Effect.map(({ snapshot }) => snapshot))
      )
      const accountWide = toScan.filter((each) => Option.isSome(store) && !isPerStore(each))
      yield* answer(json, { dimensions }, [
        ...tableOf(dimensions),
        ...(accountWide.length === 0
          ? []
          : [
              `Scanned for the whole account, because these dimensions do not exist per store: ${accountWide.join(", ")}.`
            ]),
        ...scanTimeLines(dimensions, account)
      ])
    }).pipe(withAdmin)
).pipe(Command.withDescription("Scan the catalog in one dimension, or in all."))

const nameOf = ({ product_title, title }: Pick<HealthIssue, "product_title" | "title">) =>
  quoted(product_title === undefined ? title : `${product_title} / ${title}`)

/** The other variants that have the SKU of an issue's variant. */
const othersOf = ({ duplicates = [], duplicates_count = 0 }: HealthIssue): string => {
  const more = duplicates_count - duplicates.length
  const names = duplicates.map((other) => `${other.entity_id} ${nameOf(other)}`)
  return duplicates.length === 0 ? "" : ` also of ${[...names, ...(more > 0 ? [`${more} more`] : [])].join(", ")}`
}

const wordsOfReason = { zero_price: "is 0 on an active product" } as const

const lineOf = (issue: HealthIssue, domains: ReadonlyMap<string, string>): string => {
  const { entity_id, entity_type, fields, locale, reasons = [], sku, store_id, values } = issue
  const details =
    values === undefined
      ? fields
          .map((field) => {
            const reason = reasons.find((each) => each.field === field)
            return reason === undefined ? field : `${field} ${wordsOfReason[reason.reason]}`
          })
          .join(", ")
      : values.map(({ field, value }) => `${field} ${quoted(value)}`).join(", ")
  const place = `${domains.get(store_id) ?? store_id}${locale === undefined ? "" : ` ${locale}`}`
  const skuText = sku === undefined || sku === "" ? "" : `  SKU ${quoted(sku)}`
  return `${entity_id}  ${entity_type.padEnd(10)}  ${place}  ${nameOf(issue)}${skuText}${details === "" ? "" : `  ${details}`}${othersOf(issue)}`
}

const defaultPageSize = 25

/** The command for the next page, with the same filters. */
const nextPage = (
  { page, section }: HealthIssuePage,
  {
    account,
    locale,
    pageSize,
    store
  }: {
    readonly account: Option.Option<string>
    readonly store: Option.Option<string>
    readonly locale: Option.Option<string>
    readonly pageSize: number
  }
) => {
  const words = [
    `health issues ${section}`,
    ...Option.toArray(Option.map(store, (domain) => `--store ${domain}`)),
    ...Option.toArray(Option.map(locale, (language) => `--locale ${language}`)),
    ...(pageSize === defaultPageSize ? [] : [`--page-size ${pageSize}`]),
    `--page ${page + 1}`
  ]
  return `Next: ${hint(words.join(" "), account)}`
}

const issues = Command.make(
  "issues",
  {
    section: choiceArgument("SECTION", HealthSection.literals, `One of ${HealthSection.literals.join(", ")}.`),
    store,
    locale: Options.optional(textOption("locale", "LOCALE", "Only this language (translation sections only).")),
    page: Options.withDefault(integerOption("page", "PAGE", "Page number, from 1.", 1), 1),
    pageSize: Options.withDefault(
      integerOption("page-size", "ROWS", "Rows per page, 1 to 100.", 1, 100),
      defaultPageSize
    ),
    account,
    json
  },
  ({ account, json, locale, page, pageSize, section, store }) =>
    Effect.gen(function* () {
      const client = yield* AdminClient
      const found = yield* client.listHealthIssues({ account, section, page, pageSize, store, locale })
      const stores = yield* client.listStores({ account })
      const domains = new Map<string, string>(stores.map(({ domain, id }) => [id, domain]))
      const nothing = found.scanned
        ? found.page === 1
          ? `Nothing in ${section}.`
          : `Nothing on page ${found.page} of ${section}.`
        : `${section} was never scanned: ${hint(`health scan ${dimensionOf(section)}`, account)}`
      yield* answer(json, found, [
        ...(found.data.length === 0 ? [nothing] : found.data.map((issue) => lineOf(issue, domains))),
        ...(found.has_next ? [nextPage(found, { account, store, locale, pageSize })] : [])
      ])
    }).pipe(withAdmin)
).pipe(Command.withDescription("List the issues that the last scan found, by page."))

const linesOfRules = (rules: HealthRules): ReadonlyArray<string> => [
  ...EntityKind.literals.flatMap((kind) => [
    `${kind.padEnd(10)}  required     ${rules[kind].required.join(", ") || "nothing"}`,
    `${"".padEnd(10)}  recommended  ${rules[kind].recommended.join(", ") || "nothing"}`
  ]),
  `divergence  texts        ${rules.divergence.texts}`,
  `${"".padEnd(10)}  prices       ${rules.divergence.prices}`,
  `structure   zero price   ${rules.structure.zero_price}`
]

const fieldList = (name: "required" | "recommended") =>
  Options.text(name).pipe(
    Options.withPseudoName("FIELDS"),
    Options.withDescription(`The ${name} fields, separated by commas. Empty clears the list; omit to keep it.`),
    Options.map(
      (text): ReadonlyArray<string> =>
        text
          .split(",")
          .map((field) => field.trim())
          .filter((field) => field !== "")
    ),
    Options.optional
  )

const notRules = byPlace((path) => path.replace(".", " "))

const printChange = (account: Option.Option<string>, dimension: HealthDimension = "completeness") =>
  `Next: ${hint(`health scan ${dimension}`, account)}`

const ruleChoice = <Name extends string, Value extends string>(
  name: Name,
  values: readonly [Value, ...ReadonlyArray<Value>],
  description: string
) => Options.choice(name, values).pipe(Options.withDescription(description), Options.optional)

const setChecks = Command.make(
  "checks",
  {
    texts: ruleChoice(
      "texts",
      DivergenceRules.fields.texts.literals,
      "Compare texts among stores of one language, or among all."
    ),
    prices: ruleChoice(
      "prices",
      DivergenceRules.fields.prices.literals,
      "Compare prices among stores of one currency, or among all."
    ),
    zeroPrice: ruleChoice(
      "zero-price",
      StructureRules.fields.zero_price.literals,
      "Whether a price of 0 on an active product is an issue."
    ),
    account,
    json
  },
  ({ account, json, prices, texts, zeroPrice }) =>
    Effect.gen(function* () {
      if (Option.isNone(texts) && Option.isNone(prices) && Option.isNone(zeroPrice))
        return yield* new Refused({ message: "Nothing to set: give --texts, --prices or --zero-price." })
      const rules = yield* (yield* AdminClient).changeHealthChecks({
        account,
        divergence: {
          ...(Option.isSome(texts) && { texts: texts.value }),
          ...(Option.isSome(prices) && { prices: prices.value })
        },
        structure: { ...(Option.isSome(zeroPrice) && { zero_price: zeroPrice.value }) }
      })
      const dimension = Option.isNone(texts) && Option.isNone(prices) ? "structure" : "divergence"
      yield* answer(json, rules, [...linesOfRules(rules), printChange(account, dimension)])
    }).pipe(withAdmin)
).pipe(
  Command.withDescription(
    "Change how divergence compares, and whether a price of 0 is an issue. Effective from the next scan."
  )
)

const setRules = Command.make(
  "set",
  {
    kind: choiceArgument("KIND", EntityKind.literals, "product, variant, collection or media."),
    required: fieldList("required"),
    recommended: fieldList("recommended"),
    account,
    json
  },
  ({ account, json, kind, recommended, required }) =>
    Effect.gen(function* () {
      if (Option.isNone(required) && Option.isNone(recommended))
        return yield* new Refused({ message: "Nothing to set: give --required FIELDS, --recommended FIELDS, or both." })
      const levels = {
        ...(Option.isSome(required) && { required: required.value }),
        ...(Option.isSome(recommended) && { recommended: recommended.value })
      }
      const rules = yield* (yield* AdminClient).changeHealthRules({ account, kind, levels })
      yield* answer(json, rules, [...linesOfRules(rules), printChange(account)])
    }).pipe(Effect.catchTag("ValidationFailed", notRules), withAdmin)
).pipe(Command.withDescription("Change the required and recommended fields of one kind. Effective from the next scan."))

const resetRules = Command.make("reset", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const rules = yield* (yield* AdminClient).setHealthRules({ account, rules: defaultRules })
    yield* answer(json, rules, [...linesOfRules(rules), printChange(account)])
  }).pipe(Effect.catchTag("ValidationFailed", notRules), withAdmin)
).pipe(Command.withDescription("Restore the default rules."))

const rules = Command.make("rules", { account, json }, ({ account, json }) =>
  Effect.gen(function* () {
    const rules = yield* (yield* AdminClient).showHealthRules({ account })
    yield* answer(json, rules, linesOfRules(rules))
  }).pipe(withAdmin)
).pipe(
  Command.withDescription("Show or change the rules of completeness, divergence and structure."),
  Command.withSubcommands([setRules, setChecks, resetRules])
)

export const healthCommand = Command.make("health", { store, account, json }, show).pipe(
  Command.withDescription("Show data quality as of the last scans."),
  Command.withSubcommands([scan, issues, rules])
)
