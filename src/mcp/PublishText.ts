import type { PublishedToStore } from "../publishing/PublishAnswer.ts"
import { cutText, quoted } from "./Vocabulary.ts"

/** Maximum changes per row, characters per value, rows, and characters of the whole text. */
const maxChanges = 10
const maxValue = 80
const maxRows = 50
const maxText = 6_000

/** A row of a dry run, from the program or from the tool. The text does not use ids. */
type Row = Pick<PublishedToStore, "outcome" | "message" | "changes"> & {
  readonly title?: string | undefined
  readonly store_domain?: string | undefined
  readonly included?: { readonly count: number } | undefined
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

const rowLines = ({ changes = [], included, message, outcome, store_domain, title }: Row): ReadonlyArray<string> => {
  const name = title === undefined ? (store_domain ?? "A master") : quoted(title, maxValue)
  const why = message === undefined ? "" : ` (${message})`
  if (outcome !== "would_publish") return [`${name}: ${outcome.replaceAll("_", " ")}${why}`]
  const isFirst = changes.some(({ live }) => live === null)
  const more = changes.length - maxChanges
  return [
    `${name}: publish${isFirst ? " for the first time" : ""}${why}`,
    ...changes.slice(0, maxChanges).map(changeLine),
    ...(more > 0 ? [`- and ${more} more`] : []),
    ...(included === undefined ? [] : [`- together with ${included.count} variants or media files`])
  ]
}

/** A dry run of publish_master_v1 as short plain text, for the person who confirms the publish. */
export const publishText = ({ channels, masters, message, stores, title, waiting }: DryRun): string => {
  const rows = stores ?? channels ?? masters ?? []
  const lines = [
    ...(title === undefined ? [] : [quoted(title, maxValue)]),
    ...(message === undefined ? [] : [message]),
    ...rows.slice(0, maxRows).flatMap(rowLines),
    ...(rows.length > maxRows ? [`And ${rows.length - maxRows} more.`] : []),
    ...(waiting === undefined ? [] : [`Not published: ${waiting.count} related masters with drafts of their own.`])
  ]
  return cutText(lines.join("\n"), maxText)
}
