import type { Connection } from "../../connections/Connection.ts"
import type { ReviewPart, UndonePart } from "../../connections/Undo.ts"
import { type FieldUndo, isAddition, type NotUndoneReason, type UndoWindow } from "../../connections/UndoRules.ts"
import type { Visitor } from "../Browser.ts"
import { actionWords, HistoryValue } from "../entities/EntityHistory.tsx"
import { Alert, Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import type { Sentence, Words } from "../languages/Words.tsx"
import { actorName, Domain } from "../Naming.tsx"
import { connectionPath, paths, undoReviewPath } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"
import { EntityName, FieldName } from "../Wording.tsx"

/** The value of the choice "since this time". */
export const atTime = "at"

const startChoices: ReadonlyArray<{ readonly since: string; readonly name: Sentence }> = [
  { since: "hour", name: "In the last hour" },
  { since: "today", name: "Today (UTC)" },
  { since: "week", name: "In the last 7 days" },
  { since: atTime, name: "Since this time (UTC):" }
]

/** Asks for the time since which the writes of a connection are undone. */
export const UndoForm = ({ connection }: { readonly connection: Connection }) => {
  const t = useWords()
  return (
    <section aria-labelledby="undo">
      <h2 id="undo">{t("Undo")}</h2>
      <form method="get" action={paths.undoConnection} class="sheet">
        <input type="hidden" name="id" value={connection.id} />
        <p>
          {t(
            "Undoes the changes that this connection made to drafts. Fields that somebody else has edited since do not change. You see every change before you confirm."
          )}
        </p>
        <fieldset>
          <legend>{t("What it wrote")}</legend>
          {startChoices.map(({ name, since }, index) => (
            <label key={since} class="pick">
              <input type="radio" name="since" value={since} checked={index === 0} /> {t(name)}
            </label>
          ))}
          <input type="datetime-local" name="at" aria-label={t("Time (UTC)")} />
        </fieldset>
        <p>
          <button type="submit">{t("Review")}</button>
        </p>
      </form>
    </section>
  )
}

const reasons: Readonly<Record<Exclude<NotUndoneReason, "edited_since">, Sentence>> = {
  already_back: "Not undone: the field has its earlier value already.",
  not_on_store: "Not undone: the item is no longer on the store, or the store is not linked.",
  misfit: "Not undone: the earlier value is no longer valid for this field.",
  kept_on_store: "Not undone: it was published to the store, is being published, or a gallery there shows it.",
  not_a_value: "Not undone: only changes of values and additions to stores can be undone."
}

const reasonFor = (t: Words, { laterActor, left }: FieldUndo): string | undefined => {
  if (left === null) return undefined
  if (left !== "edited_since") return t(reasons[left])
  return t("Not undone: edited since by {author}.", {
    author: laterActor === null ? t("somebody else") : actorName(t, laterActor)
  })
}

const FieldOf = ({ field: { action, key } }: { readonly field: FieldUndo }) => {
  const t = useWords()
  return action === "attributes" || action === "publish_failed" ? <FieldName>{key}</FieldName> : t(actionWords[action])
}

const firstCells = (t: Words, field: FieldUndo) => [
  <EntityName id={field.entityId} kind={field.kind} title={field.title} />,
  <Domain name={field.storeDomain ?? t("Catalog")} />,
  <FieldOf field={field} />
]

const keyOf = ({ action, entityId, key, storeId }: FieldUndo) => `${entityId} ${storeId} ${action} ${key}`

const FieldsTable = ({ fields }: { readonly fields: ReadonlyArray<FieldUndo> }) => {
  const t = useWords()
  return (
    <Table
      name={t("What it wrote")}
      columns={[t("Item"), t("Where"), t("Field"), t("Now"), t("Goes back to")]}
      rows={fields.map((field) => {
        const none = field.storeId === null ? t("empty") : t("as in the catalog")
        return {
          key: keyOf(field),
          cells: [
            ...firstCells(t, field),
            field.action === "attributes" && field.left !== "not_on_store" ? (
              <HistoryValue value={field.now} none={none} />
            ) : (
              ""
            ),
            field.left === null ? (
              <HistoryValue value={field.before} none={isAddition(field) ? t("not on the store") : none} />
            ) : (
              <span class="quiet">{reasonFor(t, field)}</span>
            )
          ]
        }
      })}
    />
  )
}

const Trail = ({ connection }: { readonly connection: Connection }) => {
  const t = useWords()
  return (
    <nav class="trail" aria-label={t("Breadcrumb")}>
      <a href={connectionPath(connection.id)}>{connection.clientName}</a>
    </nav>
  )
}

const titleOf = (t: Words, { clientName }: Connection) => t("Undo what {agent} wrote", { agent: clientName })

const stayLive: Sentence = "An undo changes drafts. Published values stay live until you publish again."

const ConfirmForm = ({
  after,
  button,
  connection,
  visitor,
  window: { since, until }
}: {
  readonly visitor: Visitor
  readonly connection: Connection
  readonly window: UndoWindow
  readonly after?: string
  readonly button: string
}) => {
  const t = useWords()
  return (
    <form method="post" action={paths.undoConnection}>
      <HiddenFields csrf={visitor.csrf} id={connection.id} />
      <input type="hidden" name="since" value={since} />
      <input type="hidden" name="until" value={until} />
      {after !== undefined && <input type="hidden" name="after" value={after} />}
      <div class="buttons">
        <button type="submit">{button}</button>
        <a href={connectionPath(connection.id)}>{t("Cancel")}</a>
      </div>
    </form>
  )
}

/** Shows what an undo would change, one part at a time. `total`: number of entities that the connection changed in the window. */
export const UndoReviewPage = ({
  connection,
  isLocked,
  part,
  total,
  visitor,
  window
}: {
  readonly visitor: Visitor
  readonly connection: Connection
  readonly window: UndoWindow
  readonly total: number
  readonly part: ReviewPart
  readonly isLocked: boolean
}) => {
  const t = useWords()
  return (
    <Frame title={titleOf(t, connection)} visitor={visitor} current={paths.connections}>
      <Trail connection={connection} />
      {isLocked && (
        <Alert>
          <p>
            {t("An import has locked the catalog, so nothing can be undone until it has ended.")}{" "}
            <a href={paths.imports}>{t("To the imports")}</a>
          </p>
        </Alert>
      )}
      <p>
        {t.rich("Since {time} this connection changed the drafts of {count, plural, one {# item} other {# items}}.", {
          time: <Time at={window.since} />,
          count: total
        })}
      </p>
      {total > 0 && (
        <>
          <p>{t(stayLive)}</p>
          <FieldsTable fields={part.fields} />
          {part.next !== null && (
            <nav class="pages" aria-label={t("Pages")}>
              <a href={undoReviewPath(connection.id, window, part.next)}>{t("More items")}</a>
            </nav>
          )}
          {!isLocked && (
            <ConfirmForm
              visitor={visitor}
              connection={connection}
              window={window}
              button={t("Undo its writes to {count, plural, one {# item} other {# items}}", { count: total })}
            />
          )}
        </>
      )}
    </Frame>
  )
}

/** Maximum number of fields in the list of fields that the undo did not change. */
const maxLeft = 50

/** The result of one part of an undo. `rest`: number of entities in the parts that follow. */
export const UndonePage = ({
  connection,
  part: { entities, fields, left, next },
  rest,
  visitor,
  window
}: {
  readonly visitor: Visitor
  readonly connection: Connection
  readonly window: UndoWindow
  readonly part: UndonePart
  readonly rest: number
}) => {
  const t = useWords()
  return (
    <Frame title={titleOf(t, connection)} visitor={visitor} current={paths.connections}>
      <Trail connection={connection} />
      <Note>
        <p>
          {fields === 0
            ? t("Nothing was changed.")
            : t(
                "{changes, plural, one {# change} other {# changes}} of {entities, plural, one {# item} other {# items}} {changes, plural, one {is} other {are}} undone.",
                { changes: fields, entities }
              )}{" "}
          {fields > 0 && t(stayLive)}
        </p>
      </Note>
      {left.length > 0 && (
        <section aria-labelledby="left">
          <h2 id="left">{t("{count, plural, one {# change} other {# changes}} left alone", { count: left.length })}</h2>
          <Table
            labelledBy="left"
            columns={[t("Item"), t("Where"), t("Field"), t("Why")]}
            rows={left
              .slice(0, maxLeft)
              .map((field) => ({ key: keyOf(field), cells: [...firstCells(t, field), reasonFor(t, field)] }))}
          />
          {left.length > maxLeft && (
            <p class="quiet">{t("And {count, number} more.", { count: left.length - maxLeft })}</p>
          )}
        </section>
      )}
      {next === null ? (
        <p>
          <a href={connectionPath(connection.id)}>{t("To the connection")}</a>
        </p>
      ) : (
        <>
          <p>{t("Not checked yet: {count, plural, one {# item} other {# items}}.", { count: rest })}</p>
          <ConfirmForm
            visitor={visitor}
            connection={connection}
            window={window}
            after={next}
            button={t("Continue with the rest")}
          />
        </>
      )}
    </Frame>
  )
}
