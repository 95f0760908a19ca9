import { Either, Schema } from "effect"
import { EntityId } from "../model/Ids.ts"
import { titleOr } from "./Naming.tsx"
import { pageOf, paths } from "./Paths.ts"
import { useWords } from "./Viewer.tsx"

const readTexts = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(Schema.String)))
const readIds = Schema.decodeUnknownEither(Schema.parseJson(Schema.Array(EntityId)))

/** A value as readers expect it: a list becomes text with commas, other values do not change. */
export const readable = (value: string, type: string): string =>
  type.startsWith("list.")
    ? Either.getOrElse(
        Either.map(readTexts(value), (texts) => texts.join(", ")),
        () => value
      )
    : value

const characters: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " " }

/** The words of HTML on one line. */
export const textOfHtml = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name: string) => characters[name] ?? "")
    .replaceAll(/\s+/g, " ")
    .trim()

/** Two values of one field as readers expect them. Tags of HTML are shown only if the words are the same. */
export const readablePair = (left: string, right: string, type: string): readonly [string, string] => {
  if (type !== "html") return [readable(left, type), readable(right, type)]
  const texts = [textOfHtml(left), textOfHtml(right)] as const
  return texts[0] === texts[1] ? [left, right] : texts
}

/** Stands for an empty value. */
export const EmptyValue = () => {
  const t = useWords()
  return <span class="quiet">{t("empty")}</span>
}

export const Value = ({ text }: { readonly text: string }) =>
  text === "" ? <EmptyValue /> : <bdi class="value">{text}</bdi>

/** Number of equal items at the start of two lists. */
const sharedStart = (left: ReadonlyArray<string>, right: ReadonlyArray<string>) => {
  const differs = left.findIndex((part, index) => part !== right[index])
  return differs === -1 ? left.length : differs
}

/** Splits a text into three parts of whole words. Only the middle part differs from the other text. */
export const differenceOf = (text: string, other: string): readonly [string, string, string] => {
  const words = text.split(/(?<=\s)/u)
  const others = other.split(/(?<=\s)/u)
  const start = sharedStart(words, others)
  const end = sharedStart(words.slice(start).reverse(), others.slice(start).reverse())
  const middle = words.length - end
  return [words.slice(0, start).join(""), words.slice(start, middle).join(""), words.slice(middle).join("")]
}

/** A value, with its difference from another value marked. */
export const ComparedValue = ({ other, text }: { readonly text: string; readonly other: string }) => {
  if (text === "") return <EmptyValue />
  const [before, middle, after] = differenceOf(text, other)
  return (
    <>
      {before}
      {middle !== "" && <mark>{middle}</mark>}
      {after}
    </>
  )
}

/** The names of pictures by id. One without a name does not exist yet. */
type PictureNames = Readonly<Record<string, string>>

const Item = ({ id, pictures }: { readonly id: EntityId; readonly pictures: PictureNames | undefined }) => {
  const t = useWords()
  return pictures !== undefined && pictures[id] === undefined ? (
    <span class="quiet">{t("A new picture of the store")}</span>
  ) : (
    <a href={pageOf(paths.entity, id)}>
      <bdi>{pictures === undefined ? id : titleOr(t, "media", pictures[id] ?? "")}</bdi>
    </a>
  )
}

/** An ordered list of entities. Text that is not a list of ids is shown unchanged. `pictures`: all of them are pictures, and have these names. */
export const OrderOf = ({ pictures, text }: { readonly text: string; readonly pictures?: PictureNames | undefined }) =>
  Either.match(readIds(text), {
    onLeft: () => <Value text={text} />,
    onRight: (ids) =>
      ids.length === 0 ? (
        <EmptyValue />
      ) : (
        <ol>
          {ids.map((id) => (
            <li key={id}>
              <Item id={id} pictures={pictures} />
            </li>
          ))}
        </ol>
      )
  })
