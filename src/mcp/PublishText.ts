import type { PublishedToStore } from "../publishing/PublishAnswer.ts"
import { cutText, quoted } from "./Vocabulary.ts"

/** Maximum changes per row: the first number with which all rows fit the text. */
const maxChanges = [10, 3, 0]
/** Maximum characters per value, rows, and characters of the whole text. */
const maxValue = 80
const maxRows = 50
const maxText = 10_000

/** A row of a dry run, from the program or from the tool. The text does not use ids. */
type Row = Pick<PublishedToStore, "outcome" | "message" | "changes"> & {
  readonly title?: string | undefined
  readonly store_domain?: string | undefined
  readonly included?: { readonly count: number } | undefined
  readonly truncated_keys?: ReadonlyArray<string> | undefined
}

export interface DryRun {
  readonly title?: string | undefined
  readonly message?: string | undefined
  readonly stores?: ReadonlyArray<Row> | undefined
  readonly channels?: ReadonlyArray<Row> | undefined
  readonly masters?: ReadonlyArray<Row> | undefined
  readonly waiting?: { readonly count: number } | undefined
}

const valueWords = (value: string) => (value === "" ? "empty" : quoted(value, maxValue))

const listOfIds: Readonly<Record<string, string>> = {
  variant_ids: "order of variants",
  media_ids: "gallery",
  members: "products"
}

const changeLine = ({ key, live, new: value }: NonNullable<Row["changes"]>[number]) => {
  const relation = listOfIds[key]
  if (relation !== undefined) return `- ${relation}: changed`
  return live === null ? `- ${key}: ${valueWords(value)}` : `- ${key}: ${valueWords(live)} -> ${valueWords(value)}`
}

const rowLines = (
  { changes = [], included, message, outcome, store_domain, title, truncated_keys = [] }: Row,
  maxChanges: number
): ReadonlyArray<string> => {
  const name = title === undefined ? (store_domain ?? "A master") : quoted(title, maxValue)
  const why = message === undefined ? "" : ` (${message})`
  if (outcome !== "would_publish") return [`${name}: ${outcome.replaceAll("_", " ")}${why}`]
  const isFirst = changes.some(({ live }) => live === null)
  const more = changes.length - maxChanges
  const count = `${truncated_keys.includes("changes") ? "at least " : ""}${more}`
  return [
    `${name}: publish${isFirst ? " for the first time" : ""}${why}`,
    ...changes.slice(0, maxChanges).map(changeLine),
    ...(more > 0 ? [maxChanges === 0 ? `- changed values: ${count}` : `- and ${count} more`] : []),
    ...(included === undefined ? [] : [`- together with ${included.count} variants or media files`])
  ]
}

/** A dry run of publish_master_v1 as short plain text, for the person who confirms the publish. */
export const publishText = ({ channels, masters, message, stores, title, waiting }: DryRun): string => {
  const rows = stores ?? channels ?? masters ?? []
  const textWith = (maxChanges: number) =>
    [
      ...(title === undefined ? [] : [quoted(title, maxValue)]),
      ...(message === undefined ? [] : [message]),
      ...rows.slice(0, maxRows).flatMap((row) => rowLines(row, maxChanges)),
      ...(rows.length > maxRows ? [`And ${rows.length - maxRows} more.`] : []),
      ...(waiting === undefined ? [] : [`Not published: ${waiting.count} related masters with drafts of their own.`])
    ].join("\n")
  const texts = maxChanges.map(textWith)
  return texts.find((text) => [...text].length <= maxText) ?? cutText(texts.at(-1) ?? "", maxText)
}
