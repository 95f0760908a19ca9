import type { Connection } from "../../connections/Connection.ts"
import type { ReviewPart, UndonePart } from "../../connections/Undo.ts"
import type { FieldUndo, LeftReason, UndoWindow } from "../../connections/UndoRules.ts"
import type { Visitor } from "../Browser.ts"
import { actionWords, HistoryValue } from "../entities/EntityHistory.tsx"
import { Alert, Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { english } from "../languages/Words.tsx"
import { actorName, counted, Domain } from "../Naming.tsx"
import { connectionPath, paths, undoReviewPath } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { EntityName, Key } from "../Wording.tsx"

/** The value of the choice "since this time". */
export const atTime = "at"

const startChoices: ReadonlyArray<{ readonly since: string; readonly name: string }> = [
  { since: "hour", name: "In the last hour" },
  { since: "today", name: "Today (UTC)" },
  { since: "week", name: "In the last 7 days" },
  { since: atTime, name: "Since this time (UTC):" }
]

/** Asks for the time since which the writes of a connection are undone. */
export const UndoForm = ({ connection }: { readonly connection: Connection }) => (
  <section aria-labelledby="undo">
    <h2 id="undo">Undo</h2>
    <form method="get" action={paths.undoConnection} class="sheet">
      <input type="hidden" name="id" value={connection.id} />
      <p>
        Undoes the changes that this connection made to drafts. Fields that somebody else has edited since do not
        change. You see every change before you confirm.
      </p>
      <fieldset>
        <legend>What it wrote</legend>
        {startChoices.map(({ name, since }, index) => (
          <label key={since} class="pick">
            <input type="radio" name="since" value={since} checked={index === 0} /> {name}
          </label>
        ))}
        <input type="datetime-local" name="at" aria-label="Time (UTC)" />
      </fieldset>
      <p>
        <button type="submit">Review</button>
      </p>
    </form>
  </section>
)

const reasons: Readonly<Record<Exclude<LeftReason, "edited_since">, string>> = {
  already_back: "Not undone: the field has its earlier value already.",
  not_on_store: "Not undone: the entity is no longer on the store, or the store is not linked.",
  misfit: "Not undone: the earlier value is no longer valid for this field.",
  not_a_value: "Not undone: only changes of values can be undone."
}

const reasonFor = ({ laterActor, left }: FieldUndo): string | undefined => {
  if (left === null) return undefined
  if (left !== "edited_since") return reasons[left]
  return `Not undone: edited since by ${laterActor === null ? "somebody else" : actorName(english, laterActor)}.`
}

const FieldOf = ({ field: { action, key } }: { readonly field: FieldUndo }) =>
  action === "attributes" || action === "publish_failed" ? <Key>{key}</Key> : actionWords[action]

const firstCells = (field: FieldUndo) => [
  <EntityName id={field.entityId} kind={field.kind} title={field.title} />,
  <Domain name={field.storeDomain ?? "Catalog"} />,
  <FieldOf field={field} />
]

const keyOf = ({ action, entityId, key, storeId }: FieldUndo) => `${entityId} ${storeId} ${action} ${key}`

const FieldsTable = ({ fields }: { readonly fields: ReadonlyArray<FieldUndo> }) => (
  <Table
    name="Fields that it wrote"
    columns={["Entity", "Where", "Field", "Now", "Goes back to"]}
    rows={fields.map((field) => {
      const none = field.storeId === null ? "empty" : "as in the catalog"
      return {
        key: keyOf(field),
        cells: [
          ...firstCells(field),
          field.action === "attributes" && field.left !== "not_on_store" ? (
            <HistoryValue value={field.now} none={none} />
          ) : (
            ""
          ),
          field.left === null ? (
            <HistoryValue value={field.before} none={none} />
          ) : (
            <span class="quiet">{reasonFor(field)}</span>
          )
        ]
      }
    })}
  />
)

const Trail = ({ connection }: { readonly connection: Connection }) => (
  <nav class="trail" aria-label="Trail">
    <a href={connectionPath(connection.id)}>{connection.clientName}</a>
  </nav>
)

const titleOf = ({ clientName }: Connection) => `Undo what ${clientName} wrote`

const stayLive = "An undo changes drafts. What was published stays live until you publish again."

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
}) => (
  <form method="post" action={paths.undoConnection}>
    <HiddenFields csrf={visitor.csrf} id={connection.id} />
    <input type="hidden" name="since" value={since} />
    <input type="hidden" name="until" value={until} />
    {after !== undefined && <input type="hidden" name="after" value={after} />}
    <div class="buttons">
      <button type="submit">{button}</button>
      <a href={connectionPath(connection.id)}>Cancel</a>
    </div>
  </form>
)

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
}) => (
  <Frame title={titleOf(connection)} visitor={visitor} current={paths.connections}>
    <Trail connection={connection} />
    {isLocked && (
      <Alert>
        <p>
          An import of this account is under review or being applied, so nothing can be undone until it has ended.{" "}
          <a href={paths.imports}>To the imports</a>
        </p>
      </Alert>
    )}
    <p>
      Since <Time at={window.since} /> this connection changed the drafts of {counted(total, "entity", "entities")}.
    </p>
    {total > 0 && (
      <>
        <p>{stayLive}</p>
        <FieldsTable fields={part.fields} />
        {part.next !== null && (
          <nav class="pages" aria-label="Pages">
            <a href={undoReviewPath(connection.id, window, part.next)}>More entities</a>
          </nav>
        )}
        {!isLocked && (
          <ConfirmForm
            visitor={visitor}
            connection={connection}
            window={window}
            button={`Undo its writes to ${counted(total, "entity", "entities")}`}
          />
        )}
      </>
    )}
  </Frame>
)

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
}) => (
  <Frame title={titleOf(connection)} visitor={visitor} current={paths.connections}>
    <Trail connection={connection} />
    <Note>
      <p>
        {fields === 0
          ? "Nothing was changed."
          : `${counted(fields, "field")} of ${counted(entities, "entity", "entities")} went back.`}{" "}
        {fields > 0 && stayLive}
      </p>
    </Note>
    {left.length > 0 && (
      <section aria-labelledby="left">
        <h2 id="left">{counted(left.length, "field")} left alone</h2>
        <Table
          labelledBy="left"
          columns={["Entity", "Where", "Field", "Why"]}
          rows={left
            .slice(0, maxLeft)
            .map((field) => ({ key: keyOf(field), cells: [...firstCells(field), reasonFor(field)] }))}
        />
        {left.length > maxLeft && <p class="quiet">{`And ${(left.length - maxLeft).toLocaleString("en")} more.`}</p>}
      </section>
    )}
    {next === null ? (
      <p>
        <a href={connectionPath(connection.id)}>To the connection</a>
      </p>
    ) : (
      <>
        <p>{`Not checked yet: ${counted(rest, "entity", "entities")}.`}</p>
        <ConfirmForm
          visitor={visitor}
          connection={connection}
          window={window}
          after={next}
          button="Continue with the rest"
        />
      </>
    )}
  </Frame>
)
