import type { ComposedChange, DropThing, LeftOut } from "../../drops/Composition.ts"
import type { Overlap } from "../../drops/Drop.ts"
import type { DropId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Timestamp } from "../../model/Timestamp.ts"
import type { Visitor } from "../Browser.ts"
import { fieldName } from "../entities/FieldNames.ts"
import { Facts } from "../Field.tsx"
import { Alert, Frame, Hidden, HiddenFields } from "../Frame.tsx"
import { Icon } from "../Icon.tsx"
import { fullName } from "../Naming.tsx"
import { dropPath, pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { useWords } from "../Viewer.tsx"
import { ShortValue, Text } from "../Wording.tsx"
import { type DropForm, hiddenFieldsOf } from "./DropForm.ts"
import { Differs, DropTime, dayAndTime, leftOutWords, NoEnd } from "./DropWords.tsx"

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

const Thing = ({ thing }: { readonly thing: DropThing }) => {
  const t = useWords()
  return (
    <a href={pageOf(paths.entity, thing.id)}>
      <bdi>{fullName(t, thing)}</bdi>
    </a>
  )
}

const BeforeAndAfter = ({ before, value }: ComposedChange) => {
  const t = useWords()
  return (
    <div class="turn">
      <span class="spoken">{t("Now:")} </span>
      {before === null ? <Differs /> : <ShortValue>{before}</ShortValue>}
      <Icon name="chevron-right" />
      <span class="spoken">{t("In the drop:")} </span>
      <strong>
        <ShortValue>{value}</ShortValue>
      </strong>
    </div>
  )
}

/** Another drop that changes the same field. */
const OverlapOf = ({
  field,
  overlap: { ends_at, id, name, starts_at, timezone }
}: {
  readonly field: string
  readonly overlap: Overlap
}) => {
  const t = useWords()
  const parts = {
    drop: (
      <a href={dropPath(id)}>
        <Text>{name}</Text>
      </a>
    ),
    changes: fieldName(t, field),
    start: dayAndTime(t, starts_at, timezone),
    zone: <bdi>({timezone})</bdi>
  }
  return (
    <p class="wrong">
      {ends_at === null
        ? t.rich("{drop} changes {changes} from {start} {zone}", parts)
        : t.rich("{drop} changes {changes} from {start} to {end} {zone}", {
            ...parts,
            end: dayAndTime(t, ends_at, timezone)
          })}
    </p>
  )
}

/** Warnings about the changes of one entity. */
const Warnings = ({
  changes,
  overlaps
}: {
  readonly changes: ReadonlyArray<ComposedChange & { readonly ordinal: number }>
  readonly overlaps: ReadonlyArray<Overlap>
}) => {
  const t = useWords()
  return (
    <>
      {changes.some(({ isUnpublished }) => isUnpublished) && (
        <p class="warning">{t("Never published to the store. Publish it before the start, or this change fails.")}</p>
      )}
      {changes.flatMap(({ field, ordinal }) =>
        overlaps
          .filter((overlap) => overlap.ordinal === ordinal)
          .map((overlap) => <OverlapOf key={`${overlap.id} ${field}`} field={field} overlap={overlap} />)
      )}
    </>
  )
}

/** The changes as a table: a row for each thing, a column for each field. */
const ChangesTable = ({ changes, overlaps, store }: DropReview) => {
  const t = useWords()
  const numbered = changes.map((change, ordinal) => ({ ...change, ordinal }))
  const fields = [...new Set(changes.map(({ field }) => field))]
  const things = [...new Map(changes.map(({ thing }) => [thing.id, thing])).values()]
  const isMoney = (field: string) => field === "price" || field === "compare_at_price"
  return (
    <div class="wide review">
      <Table
        name={t("Changes of the drop")}
        columns={[t("What"), ...fields.map((each) => fieldName(t, each))]}
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
                return change === undefined ? (
                  <span class="quiet">{t("no change")}</span>
                ) : (
                  <BeforeAndAfter {...change} />
                )
              })
            ]
          }
        })}
      />
    </div>
  )
}

/** Notices about the whole drop, shown before it is scheduled. */
const Notices = ({ changes, leftOut, overlaps, withdrawn }: DropReview) => {
  const t = useWords()
  const affected = new Set(overlaps.map(({ ordinal }) => ordinal)).size
  return (
    <>
      {affected > 0 && (
        <Alert>
          <p>
            {affected === changes.length
              ? t(
                  "Every change is made by another drop at an overlapping time, so the drop cannot be scheduled like this. Change the times or the items."
                )
              : t(
                  "{count, plural, one {# change of {all, number} is} other {# changes of {all, number} are}} made by another drop at an overlapping time, so the drop cannot be scheduled like this. Change the times, or leave these changes out.",
                  { count: affected, all: changes.length }
                )}
          </p>
        </Alert>
      )}
      {withdrawn > 0 && (
        <p class="note">
          {t(
            "{count, plural, one {# change that another drop makes at an overlapping time is} other {# changes that another drop makes at an overlapping time are}} left out.",
            { count: withdrawn }
          )}
        </p>
      )}
      {leftOut.length > 0 && (
        <details class="left-out" open={leftOut.length <= 5}>
          <summary>
            {t("Not changed: {count, plural, one {# item} other {# items}}", { count: leftOut.length })}
          </summary>
          <ul>
            {leftOut.map(({ price, reason, thing }) => (
              <li key={`${thing.id} ${reason}`}>
                {t.rich(leftOutWords[reason], { thing: <Thing thing={thing} />, price: t.amount(price) })}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

/**
 * The last step, with every change before and after. `nextId`: the id of the new drop, so that sending the form twice schedules one drop.
 */
export const ReviewDropPage = ({
  isOutdated,
  nextId,
  review,
  visitor
}: {
  readonly visitor: Visitor
  readonly review: DropReview
  readonly nextId: DropId
  /** Whether the changes are no longer those that the sent form showed. */
  readonly isOutdated: boolean
}) => {
  const t = useWords()
  const { changes, ends, form, overlaps, seen, starts, store } = review
  const things = new Set(changes.map(({ thing }) => thing.id)).size
  const affected = new Set(overlaps.map(({ ordinal }) => ordinal)).size
  const hiddenFields = [
    ...hiddenFieldsOf(form),
    ...(form.leavesOverlaps ? [["leave", "yes"] as const] : []),
    ["seen", seen] as const
  ]
  return (
    <Frame title={t("Review: {name}", { name: form.name.trim() })} visitor={visitor} current={paths.drops}>
      {isOutdated && (
        <Alert>
          <p>
            {t("Values have changed since you opened the review, so nothing was scheduled. These are the changes now.")}
          </p>
        </Alert>
      )}
      <Notices {...review} />
      <Facts
        look="sheet facts"
        of={[
          [t("Store"), store === null ? t("All stores") : <Text>{store.name}</Text>],
          [t("Starts"), <DropTime at={starts} timezone={form.zone} />],
          [t("Ends"), ends === null ? <NoEnd /> : <DropTime at={ends} timezone={form.zone} />],
          [
            t("Changes"),
            <>
              {t(
                "{changes, plural, one {# change} other {# changes}} of {things, plural, one {# item} other {# items}}",
                { changes: changes.length, things }
              )}
              {form.percent.trim() !== "" && (
                <span class="zone">
                  {t(
                    "The new prices are calculated now. Later price changes do not affect them. If another drop has changed a price, the price after its end counts."
                  )}
                </span>
              )}
            </>
          ]
        ]}
      />
      <ChangesTable {...review} />
      <form method="post" action={paths.drops} class="actionbar">
        <HiddenFields csrf={visitor.csrf} id={nextId} />
        <Hidden of={hiddenFields} />
        {affected === 0 && <button type="submit">{t("Schedule the drop")}</button>}
        {affected > 0 && affected < changes.length && (
          <button type="submit" formAction={paths.newDrop} name="do" value="leave">
            {t("Leave out {count, plural, one {# change} other {# changes}}", { count: affected })}
          </button>
        )}
        <button type="submit" class="plain" formAction={paths.newDrop} name="do" value="edit">
          {t("Back to the form")}
        </button>
      </form>
    </Frame>
  )
}
