import type { ComposedChange, DropThing, LeftOut } from "../../drops/Composition.ts"
import type { Overlap } from "../../drops/Drop.ts"
import type { DropId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import type { Visitor } from "../Browser.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { Alert, Frame, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { english } from "../languages/Words.tsx"
import { counted, titleOr } from "../Naming.tsx"
import { dropPath, pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { ShortValue, Text } from "../Wording.tsx"
import { type DropForm, hiddenFieldsOf } from "./DropForm.ts"
import { DropTime, dayAndTime } from "./DropWords.tsx"

/** A drop that can be scheduled, before it is. `seen`: identifies the changes that the page shows. */
export interface DropReview {
  readonly form: DropForm
  readonly store: Store | null
  readonly starts: Timestamp
  readonly ends: Timestamp | null
  readonly changes: ReadonlyArray<ComposedChange>
  readonly leftOut: ReadonlyArray<LeftOut>
  /** Other drops that change the same fields at the same time. `ordinal`: index of the change. */
  readonly overlaps: ReadonlyArray<Overlap>
  /** Number of changes that were left out because of other drops. */
  readonly withdrawn: number
  readonly seen: string
}

const Thing = ({ thing: { id, kind, parentTitle, title } }: { readonly thing: DropThing }) => (
  <a href={pageOf(paths.entity, id)}>
    <bdi>
      {parentTitle === null
        ? titleOr(english, kind, title)
        : `${titleOr(english, "product", parentTitle)}: ${titleOr(english, kind, title)}`}
    </bdi>
  </a>
)

const BeforeAndAfter = ({ before, value }: ComposedChange) => (
  <div class="turn">
    <span class="spoken">Now: </span>
    {before === null ? <span class="quiet">differs between stores</span> : <ShortValue>{before}</ShortValue>}
    <Icon name="chevron-right" />
    <span class="spoken">In the drop: </span>
    <strong>
      <ShortValue>{value}</ShortValue>
    </strong>
  </div>
)

const periodOf = ({ ends_at, starts_at, timezone }: Overlap) =>
  ends_at === null
    ? `from ${dayAndTime(starts_at, timezone)} (${timezone})`
    : `${dayAndTime(starts_at, timezone)} to ${dayAndTime(ends_at, timezone)} (${timezone})`

/** What is noteworthy about the changes of a thing. */
const Warnings = ({
  changes,
  overlaps
}: {
  readonly changes: ReadonlyArray<ComposedChange & { readonly ordinal: number }>
  readonly overlaps: ReadonlyArray<Overlap>
}) => (
  <>
    {changes.some(({ isUnpublished }) => isUnpublished) && (
      <p class="warning">Never published to the store. Publish it before the start, or this change fails.</p>
    )}
    {changes.flatMap(({ field, ordinal }) =>
      overlaps
        .filter((overlap) => overlap.ordinal === ordinal)
        .map((overlap) => (
          <p class="wrong" key={`${overlap.id} ${field}`}>
            <a href={dropPath(overlap.id)}>
              <Text>{overlap.name}</Text>
            </a>{" "}
            changes {fieldName(english, field)} {periodOf(overlap)}.
          </p>
        ))
    )}
  </>
)

/** The changes as a table: a row for each thing, a column for each field. */
const ChangesTable = ({ changes, overlaps, store }: DropReview) => {
  const numbered = changes.map((change, ordinal) => ({ ...change, ordinal }))
  const fields = [...new Set(changes.map(({ field }) => field))]
  const things = [...new Map(changes.map(({ thing }) => [thing.id, thing])).values()]
  const isMoney = (field: string) => field === "price" || field === "compare_at_price"
  return (
    <div class="wide review">
      <Table
        name="Changes of the drop"
        columns={["What", ...fields.map((each) => fieldName(english, each))]}
        notes={[undefined, ...fields.map((field) => (isMoney(field) ? store?.currency : undefined))]}
        rows={things.map((thing) => {
          const own = numbered.filter((change) => change.thing.id === thing.id)
          return {
            key: thing.id,
            cells: [
              <>
                <Thing thing={thing} />
                <Warnings changes={own} overlaps={overlaps} />
              </>,
              ...fields.map((field) => {
                const change = own.find((each) => each.field === field)
                return change === undefined ? <span class="quiet">no change</span> : <BeforeAndAfter {...change} />
              })
            ]
          }
        })}
      />
    </div>
  )
}

/** What a person must know before the drop is scheduled. */
const Notices = ({ changes, leftOut, overlaps, withdrawn }: DropReview) => {
  const affected = new Set(overlaps.map(({ ordinal }) => ordinal)).size
  return (
    <>
      {affected > 0 && (
        <Alert>
          <p>
            {affected === changes.length
              ? "Every change is made by another drop at an overlapping time"
              : `${counted(affected, "change")} of ${changes.length} ${affected === 1 ? "is" : "are"} made by another drop at an overlapping time`}
            , so the drop cannot be scheduled like this. Change the times
            {affected === changes.length ? " or the things." : ", or leave these changes out."}
          </p>
        </Alert>
      )}
      {withdrawn > 0 && (
        <p class="note">{`${counted(withdrawn, "change")} that another drop makes at an overlapping time ${withdrawn === 1 ? "is" : "are"} left out.`}</p>
      )}
      {leftOut.length > 0 && (
        <details class="left-out" open={leftOut.length <= 5}>
          <summary>{`Not changed: ${counted(leftOut.length, "thing")}`}</summary>
          <ul>
            {leftOut.map(({ reason, thing }) => (
              <li key={`${thing.id} ${reason}`}>
                <Thing thing={thing} /> {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

/** The last step: every change with its value before and after. `nextId`: the id of the new drop, so that sending the form twice schedules one drop. */
export const ReviewDropPage = ({
  isOutdated,
  nextId,
  review,
  visitor
}: {
  readonly visitor: Visitor
  readonly review: DropReview
  readonly nextId: DropId
  /** Whether the form was sent with changes that are not these any more. */
  readonly isOutdated: boolean
}) => {
  const { changes, ends, form, overlaps, seen, starts, store } = review
  const things = new Set(changes.map(({ thing }) => thing.id)).size
  const affected = new Set(overlaps.map(({ ordinal }) => ordinal)).size
  const hidden = [
    ...hiddenFieldsOf(form),
    ...(form.leavesOverlaps ? [["leave", "yes"] as const] : []),
    ["seen", seen] as const
  ]
  return (
    <Frame title={`Review: ${form.name.trim()}`} visitor={visitor} current={paths.drops}>
      {isOutdated && (
        <Alert>
          <p>Values have changed since you opened the review, so nothing was scheduled. These are the changes now.</p>
        </Alert>
      )}
      <Notices {...review} />
      <dl class="sheet facts">
        <dt>Store</dt>
        <dd>{store === null ? "All stores" : <Text>{store.name}</Text>}</dd>
        <dt>Starts</dt>
        <dd>
          <DropTime at={starts} timezone={form.zone} />
        </dd>
        <dt>Ends</dt>
        <dd>{ends === null ? "Never: the new values stay" : <DropTime at={ends} timezone={form.zone} />}</dd>
        <dt>Changes</dt>
        <dd>
          {`${counted(changes.length, "change")} of ${counted(things, "thing")}`}
          {form.percent.trim() !== "" && (
            <span class="zone">
              Prices are worked out now. A price that changes before the start does not change them.
            </span>
          )}
        </dd>
      </dl>
      <ChangesTable {...review} />
      <form method="post" action={paths.drops} class="actionbar">
        <HiddenFields csrf={visitor.csrf} id={nextId} />
        {hidden.map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        {affected === 0 && <button type="submit">Schedule the drop</button>}
        {affected > 0 && affected < changes.length && (
          <button type="submit" formAction={paths.newDrop} name="do" value="leave">
            {`Leave out ${counted(affected, "change")}`}
          </button>
        )}
        <button type="submit" class="plain" formAction={paths.newDrop} name="do" value="edit">
          Back to the form
        </button>
      </form>
    </Frame>
  )
}
