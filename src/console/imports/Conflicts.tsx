import type { ComponentChildren } from "preact"
import type { ConflictDecision, DecisionTally, ImportConflict, ImportRun } from "../../imports/Import.ts"
import { typeOf } from "../../model/Attribute.ts"
import { FieldMisfit, fieldState, type Misfit, misfitId } from "../Field.tsx"
import { Time } from "../Frame.tsx"
import { english } from "../languages/Words.tsx"
import { actorName, counted, EntityLink } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { type Row, Table } from "../Table.tsx"
import { ComparedValue, OrderOf, readable, Value } from "../Values.tsx"

/** The name of the form field with the decision on a conflict. */
export const conflictField = (conflict: number | ""): string => `conflict-${conflict}`

/** The form field with the decision that the page showed; empty: undecided. */
export const seenField = (conflict: number | ""): string => `seen-${conflict}`

export const decisionWords: Readonly<Record<ConflictDecision, string>> = {
  keep_draft: "Keep our draft",
  take_store: "Take the store's value"
}

const orders: Readonly<Record<string, string>> = {
  media_ids: "order of media",
  variant_ids: "order of variants",
  members: "members and their order"
}

/** A conflict in a form. `chosen`: the choice of a refused form; `misfit`: the problem of that choice. */
interface ConflictShown {
  readonly conflict: ImportConflict
  readonly chosen: ConflictDecision | undefined
  readonly misfit: Misfit | undefined
  readonly hasFocus: boolean
}

const Side = ({
  children,
  chosen,
  conflict: { conflict, decision },
  hasFocus,
  value
}: Omit<ConflictShown, "misfit"> & { readonly value: ConflictDecision; readonly children: ComponentChildren }) => {
  const id = `${value}-${conflict}`
  return (
    <div>
      <label class="pick">
        <input
          type="radio"
          name={conflictField(conflict)}
          value={value}
          checked={(chosen ?? decision) === value}
          aria-describedby={id}
          autofocus={hasFocus}
        />
        {decisionWords[value]}
      </label>
      <div class="value" id={id}>
        {children}
      </div>
    </div>
  )
}

const Sides = ({ chosen, conflict, hasFocus }: ConflictShown) => {
  const type = typeOf(conflict.entity_type, conflict.field, [])
  const [draft, store] = [readable(conflict.draft_value, type), readable(conflict.store_value, type)]
  const isOrder = Object.hasOwn(orders, conflict.field)
  return (
    <div class="versus">
      <Side conflict={conflict} chosen={chosen} value="keep_draft" hasFocus={hasFocus}>
        {isOrder ? <OrderOf text={conflict.draft_value} /> : <ComparedValue text={draft} other={store} />}
      </Side>
      <Side conflict={conflict} chosen={chosen} value="take_store" hasFocus={false}>
        {isOrder ? <OrderOf text={conflict.store_value} /> : <ComparedValue text={store} other={draft} />}
      </Side>
    </div>
  )
}

const Conflict = (shown: ConflictShown) => {
  const { conflict, misfit } = shown
  const { accepted, decided_at, decided_by, entity_id, entity_type, field, title } = conflict
  const name = conflictField(conflict.conflict)
  return (
    <fieldset class="conflict" aria-describedby={misfit && misfitId(name)}>
      <legend>
        <EntityLink id={entity_id} kind={entity_type} title={title} />: {orders[field] ?? <code>{field}</code>}
      </legend>
      <input type="hidden" name={seenField(conflict.conflict)} value={conflict.decision ?? ""} />
      <Sides {...shown} />
      <FieldMisfit field={name} misfit={misfit} />
      <details>
        <summary>Last accepted value of the store</summary>
        {accepted === null ? (
          <p class="quiet">None: it was never published there.</p>
        ) : orders[field] === undefined ? (
          <p>
            <Value text={readable(accepted, typeOf(entity_type, field, []))} />
          </p>
        ) : (
          <OrderOf text={accepted} />
        )}
      </details>
      {decided_by !== null && decided_at !== null && (
        <p class="quiet">
          Decided by {actorName(english, decided_by)}, <Time at={decided_at} />
        </p>
      )}
    </fieldset>
  )
}

const decidedRow = (conflict: ImportConflict): Row => {
  const { decided_by, decision, draft_value, entity_id, entity_type, field, store_value, title } = conflict
  const type = typeOf(entity_type, field, [])
  const cell = (text: string) =>
    orders[field] === undefined ? <Value text={readable(text, type)} /> : <OrderOf text={text} />
  return {
    key: String(conflict.conflict),
    cells: [
      <>
        <EntityLink id={entity_id} kind={entity_type} title={title} />
        <div>{orders[field] ?? <code>{field}</code>}</div>
      </>,
      cell(draft_value),
      cell(store_value),
      <>
        {decision === null ? (
          <span class="quiet">none</span>
        ) : decision === "keep_draft" ? (
          "Our draft was kept"
        ) : (
          "The store's value was taken"
        )}
        {decided_by !== null && <div class="quiet">{actorName(english, decided_by)}</div>}
      </>
    ]
  }
}

/** The form field that allows earlier decisions to be replaced. Its value is the digest of the decisions that the page showed. */
export const replaceField = "replace"

const everyConflict: ReadonlyArray<{
  readonly decision: ConflictDecision
  readonly replaced: ConflictDecision
  readonly name: string
}> = [
  { decision: "keep_draft", replaced: "take_store", name: "Keep every draft" },
  { decision: "take_store", replaced: "keep_draft", name: "Take every value of the store" }
]

/** Buttons that decide all conflicts. They change decisions that were made before only if the person confirms the number of them. */
const AllAtOnce = ({ misfit, tally }: { readonly tally: DecisionTally; readonly misfit: Misfit | undefined }) => (
  <>
    <h3>All at once</h3>
    <p>
      {tally.undecided === 0
        ? "Every conflict is decided, so this changes only decisions that were made before."
        : `This decides ${counted(tally.undecided, "undecided conflict")}. Decisions that were made before stay.`}
    </p>
    {tally.keep_draft + tally.take_store > 0 && (
      <>
        <label class="pick">
          <input type="checkbox" name={replaceField} value={tally.digest} {...fieldState(misfit, replaceField)} />
          Replace earlier decisions too:{" "}
          {everyConflict
            .map(({ name, replaced }) => `${name} changes ${tally[replaced].toLocaleString("en")}`)
            .join(", ")}
        </label>
        <FieldMisfit field={replaceField} misfit={misfit} />
      </>
    )}
    <div class="buttons">
      {everyConflict.map(({ decision, name }) => (
        <button
          key={decision}
          type="submit"
          class="plain"
          name="decision"
          value={decision}
          formaction={paths.decideAllConflicts}
          formnovalidate
        >
          {name}
        </button>
      ))}
    </div>
  </>
)

interface ConflictsShown {
  readonly run: ImportRun
  /** Conflicts whose number is greater than `after`, at most `atOnce` of them. */
  readonly conflicts: ReadonlyArray<ImportConflict>
  readonly after: number
  readonly atOnce: number
}

const Pages = ({ after, atOnce, conflicts, run: { id, summary } }: ConflictsShown) => {
  const last = conflicts.at(-1)?.conflict ?? after
  const at = (number: number) => `${pageOf(paths.import, id)}&list=conflicts&after=${number}`
  return after === 0 && last >= summary.conflicts ? null : (
    <nav class="pages" aria-label="Pages of conflicts">
      {after > 0 && <a href={at(Math.max(after - atOnce, 0))}>Previous conflicts</a>}
      {conflicts.length > 0 && (
        <span class="quiet">
          {conflicts[0]?.conflict} to {last} of {summary.conflicts}
        </span>
      )}
      {last < summary.conflicts && conflicts.length > 0 && <a href={at(last)}>Next conflicts</a>}
    </nav>
  )
}

/** Conflicts of an import under review. They are in the form that accepts the import, so every button sends the decisions. */
export const ConflictsToDecide = ({
  chosen,
  misfits,
  tally,
  ...shown
}: ConflictsShown & {
  readonly tally: DecisionTally
  /** Choices of a refused form by conflict, and their problem. The first misfit gets the focus. */
  readonly chosen: ReadonlyMap<number, ConflictDecision>
  readonly misfits: ReadonlyArray<Misfit>
}) => {
  const { after, conflicts, run } = shown
  const { undecided } = tally
  const misfitOf = ({ conflict }: ImportConflict) => misfits.find(({ field }) => field === conflictField(conflict))
  return (
    <section aria-labelledby="conflicts">
      <h2 id="conflicts">Conflicts</h2>
      <p>
        {run.summary.conflicts === 1 ? "One value was" : `${run.summary.conflicts} values were`} edited here and in the
        store since the last publish. {undecided === 0 ? "All are decided." : `${undecided} undecided.`} Differences are
        marked.
      </p>
      <Pages {...shown} />
      {conflicts.length > 0 && (
        <div class="fields">
          {after > 0 && <input type="hidden" name="after" value={after} />}
          {conflicts.map((conflict) => (
            <Conflict
              key={conflict.conflict}
              conflict={conflict}
              chosen={chosen.get(conflict.conflict)}
              misfit={misfitOf(conflict)}
              hasFocus={misfits[0] !== undefined && misfits[0] === misfitOf(conflict)}
            />
          ))}
          <div class="buttons">
            <button
              type="submit"
              class={undecided === 0 ? "plain" : undefined}
              formaction={paths.decideConflicts}
              formnovalidate
            >
              Save decisions
            </button>
          </div>
        </div>
      )}
      <Pages {...shown} />
      <AllAtOnce tally={tally} misfit={misfits.find(({ field }) => field === replaceField)} />
    </section>
  )
}

/** Conflicts of an import that is not under review any more. */
export const ConflictsDecided = (shown: ConflictsShown) => (
  <section aria-labelledby="conflicts">
    <h2 id="conflicts">Conflicts</h2>
    {shown.conflicts.length === 0 ? (
      <p class="quiet">They were deleted seven days after the end of the import.</p>
    ) : (
      <Table
        labelledBy="conflicts"
        columns={["Value", "Our draft", "The store's value", "Decision"]}
        rows={shown.conflicts.map(decidedRow)}
      />
    )}
    <Pages {...shown} />
  </section>
)
