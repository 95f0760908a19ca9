import type { HistoryEntry, ValueChange } from "../../drafts/History.ts"
import { cancelledCode } from "../../model/PublishState.ts"
import type { Store } from "../../model/Store.ts"
import { Time } from "../Frame.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { actorName, storeNameOf } from "../Naming.tsx"
import { connectionPath, dropPath, pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"
import { FieldName, shorten } from "../Wording.tsx"

/** Words for actions that have no values. */
export const actionWords: Readonly<Record<Exclude<HistoryEntry["action"], "attributes" | "publish_failed">, Sentence>> =
  {
    created: "Item created",
    added_to_store: "Added to the store",
    removed_from_store: "Removed from the store",
    gallery: "Gallery changed",
    members: "Members changed",
    variants: "Variants changed",
    publish_asked: "Publish requested",
    published: "Published"
  }

/** Maximum length of a value in a list of changes, in characters. */
const maxCharacters = 200

/** `none`: the words to show if there is no value. */
export const HistoryValue = ({ none, value }: { readonly value: string | null; readonly none: string }) => {
  const t = useWords()
  return value === null || value === "" ? (
    <span class="quiet">{value === null ? none : t("empty")}</span>
  ) : (
    <bdi class="value">{shorten(value, maxCharacters)}</bdi>
  )
}

const Change = ({ change, none }: { readonly change: ValueChange; readonly none: string }) => {
  const t = useWords()
  return (
    <li>
      <FieldName>{change.key}</FieldName>: <HistoryValue value={change.old} none={none} />{" "}
      <span aria-hidden="true" class="onward">
        →
      </span>
      <span class="spoken"> {t("became")} </span> <HistoryValue value={change.new} none={none} />
    </li>
  )
}

const Who = ({ entry: { actor, drop, import_id, undo_of } }: { readonly entry: HistoryEntry }) => {
  const t = useWords()
  return (
    <>
      {drop === null ? (
        actorName(t, actor)
      ) : (
        <>
          {t.rich("Drop {drop}", {
            drop: (
              <a href={dropPath(drop.id)}>
                <bdi>{drop.name}</bdi>
              </a>
            )
          })}
          <div class="quiet">{t("scheduled by {author}", { author: actorName(t, actor) })}</div>
        </>
      )}
      {undo_of !== null && (
        <div>
          {t.rich("undoing {agent}", {
            agent: <a href={connectionPath(undo_of.id)}>{actorName(t, { kind: "connection", name: undo_of.name })}</a>
          })}
        </div>
      )}
      {import_id !== null && (
        <div>
          {t.rich("by <link>an import</link>", {
            link: (words) => <a href={pageOf(paths.import, import_id)}>{words}</a>
          })}
        </div>
      )}
    </>
  )
}

const What = ({ entry }: { readonly entry: HistoryEntry }) => {
  const t = useWords()

  if (entry.action === "attributes")
    return (
      <ul>
        {entry.changes.map((change) => (
          <Change
            key={change.key}
            change={change}
            none={entry.store_id === null ? t("empty") : t("as in the catalog")}
          />
        ))}
      </ul>
    )
  if (entry.error?.code === cancelledCode) return <>{t("Publish cancelled before it was sent")}</>
  if (entry.action === "publish_failed")
    return (
      <>
        {t("Publish failed: {cause}", { cause: entry.error?.message ?? "" })}{" "}
        <span class="quiet">
          (<code>{entry.error?.code}</code>)
        </span>
      </>
    )
  return (
    <>
      {t(actionWords[entry.action])}
      {entry.error !== null && <div>{t.say(entry.error.message)}</div>}
    </>
  )
}

/** `history`: newest first; `more`: the URL of the longer history; `field`: the one field shown, and the URL of all. */
export const EntityHistory = ({
  field,
  history,
  linked,
  more
}: {
  readonly field?: { readonly name: string; readonly all: string }
  readonly history: ReadonlyArray<HistoryEntry>
  readonly linked: ReadonlyArray<Store>
  readonly more: string | undefined
}) => {
  const t = useWords()
  return (
    <section aria-labelledby="history">
      <h2 id="history">{field === undefined ? t("History") : t("History of {field}", { field: field.name })}</h2>
      {field !== undefined && (
        <p>
          <a href={field.all}>{t("Show the history of all fields")}</a>
        </p>
      )}
      {history.length === 0 ? (
        <p class="quiet">
          {field === undefined
            ? t("No changes are recorded: the item is older than the history.")
            : t("No changes of this field are recorded.")}
        </p>
      ) : (
        <Table
          labelledBy="history"
          columns={[t("When"), t("Who"), t("Where"), t("What")]}
          rows={history.map((entry) => ({
            key: `${entry.at} ${entry.draft_revision} ${entry.action} ${entry.store_id}`,
            cells: [
              <>
                <Time at={entry.at} />
                <div class="quiet">{t("Revision {number, number}", { number: entry.draft_revision })}</div>
              </>,
              <Who entry={entry} />,
              <bdi>{storeNameOf(linked, entry) ?? t("Catalog")}</bdi>,
              <What entry={entry} />
            ]
          }))}
        />
      )}
      {more !== undefined && (
        <p>
          <a href={more}>{t("Show more of the history")}</a>
        </p>
      )}
    </section>
  )
}
