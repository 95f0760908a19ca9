import {
  type ConflictDecision,
  columnsNotKept,
  type DecisionTally,
  type ImportConflict,
  type ImportRun,
  isRemovalToConfirm,
  plannedOf,
  type ReadingProgress,
  type StoreAnswer
} from "../../imports/Import.ts"
import type { ReviewRow } from "../../imports/ReviewLists.ts"
import { maxEntries } from "../../storedata/MirrorRecords.ts"
import type { Visitor } from "../Browser.ts"
import { FieldMisfit, type Misfit, misfitId } from "../Field.tsx"
import { Alert, Frame, HiddenFields, Note, Refusal, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { english } from "../languages/Words.tsx"
import { actorName, counted, importTitle } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { ConflictsDecided, ConflictsToDecide } from "./Conflicts.tsx"
import { ImportRows, type ImportTab, ImportTabs, listsTitle } from "./ImportLists.tsx"
import { isRead, PhaseOf } from "./ImportPhases.tsx"
import { ProgressOf, progressSentence, StepsOf } from "./ImportProgress.tsx"
import type { RefusedReview } from "./ImportView.tsx"

/** Form fields: the decision on all undecided conflicts, and the confirmation of the number of removals. */
export const restField = "rest"
export const confirmField = "remove"

const Facts = ({ run }: { readonly run: ImportRun }) => (
  <div class="sheet">
    <dl>
      <dt>State</dt>
      <dd>
        <PhaseOf phase={run.phase} />
      </dd>
      <dt>Store</dt>
      <dd>{run.storeDomain}</dd>
      <dt>Source</dt>
      <dd>{run.fileName === null ? "The store itself, read through its platform" : `The file ${run.fileName}`}</dd>
      <dt>By</dt>
      <dd>{actorName(english, run.actor)}</dd>
      <dt>Began</dt>
      <dd>
        <Time at={run.createdAt} />
      </dd>
      <dt>Last change</dt>
      <dd>
        <Time at={run.updatedAt} />
      </dd>
      {(run.phase === "applying" || run.phase === "failed") && (
        <>
          <dt>Applied</dt>
          <dd>
            {run.applied.toLocaleString("en")} of {plannedOf(run.summary).toLocaleString("en")}
          </dd>
        </>
      )}
    </dl>
  </div>
)

/** Maximum number of ignored columns that are named. */
const maxColumns = 10

/** The counts of markets, definitions, metaobject entries and translations, in words. Empty if all counts are 0. */
const besideOf = (beside: NonNullable<ImportRun["summary"]["beside"]>): ReadonlyArray<string> => {
  const { markets, metafield_definitions, metaobject_definitions, metaobject_entries, translations } = beside
  const parts = [
    { count: markets, one: "market", many: "markets" },
    { count: metafield_definitions + metaobject_definitions, one: "definition", many: "definitions" },
    { count: metaobject_entries, one: "entry", many: "entries" },
    { count: translations, one: "translation", many: "translations" }
  ].filter(({ count }) => count > 0)
  const text = parts.map(({ count, many, one }) => counted(count, one, many)).join(", ")
  return text === "" ? [] : [`Other data: ${text}.`]
}

/** The result of reading the store after a file was applied, in words. */
const answerOf = (storeDomain: string, answer: StoreAnswer | null): ReadonlyArray<string> =>
  answer === null
    ? []
    : "error" in answer
      ? [
          `${storeDomain} could not be read, so it is unknown which values it has. The file's changes count as unpublished until the next refresh. ${answer.error}`
        ]
      : [
          `${storeDomain} has ${counted(answer.entities, "entity", "entities")} of the changed ones already. The others stay unpublished.`
        ]

/** The sentences below the counts of a summary. */
const sentencesOf = ({ fileName, storeDomain, summary }: ImportRun): ReadonlyArray<string> => {
  const { answer, beside, images, unlinked, unpublished, variants } = summary
  const { more, named } = columnsNotKept(summary, maxColumns)
  return [
    `Read: ${counted(variants, "variant")}${fileName === null ? "" : ` and ${counted(images, "image")}`}.`,
    ...(beside === null
      ? []
      : [
          ...besideOf(beside),
          ...(beside.cut_metaobjects.length === 0
            ? []
            : [
                `Only the first ${maxEntries.toLocaleString("en")} entries are imported of: ${beside.cut_metaobjects.join(", ")}.`
              ])
        ]),
    ...(unlinked === 0
      ? []
      : [
          `No longer in the store: ${counted(unlinked, "entity", "entities")}. Accepting removes them from the store. They stay in the catalog.`
        ]),
    ...answerOf(storeDomain, answer),
    ...(unpublished === 0
      ? []
      : [
          `Active but not published to the online store: ${counted(unpublished, "product")}. Accepting imports them as drafts.`
        ]),
    ...(named.length === 0
      ? []
      : [
          `Columns that are not imported, with the number of filled cells: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Publishing does not change them in the shop.`
        ])
  ]
}

const Summary = ({ run }: { readonly run: ImportRun }) => {
  const { collections, files } = run.summary
  const kinds = [
    { name: "Products", counts: run.summary },
    ...(run.source === "csv"
      ? []
      : [
          { name: "Collections", counts: collections },
          { name: "Media files", counts: files }
        ])
  ]
  return (
    <section aria-labelledby="summary">
      <h2 id="summary">Summary</h2>
      <Table
        labelledBy="summary"
        columns={["Kind", "New", "Changed", "Unchanged"]}
        isNumeric
        rows={kinds.map(({ counts: { created, unchanged, updated }, name }) => ({
          key: name,
          cells: [name, ...[created, updated, unchanged].map((count) => count.toLocaleString("en"))]
        }))}
      />
      {sentencesOf(run).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </section>
  )
}

/** The problems of a refused file. A single problem is not listed, because the error message describes it. */
const Problems = ({ problem_count: count, problems }: ImportRun["summary"]) =>
  count < 2 ? null : (
    <section aria-labelledby="problems">
      <h2 id="problems">{counted(count, "problem")} in the file</h2>
      <table class="sheet" aria-labelledby="problems">
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">Column</th>
            <th scope="col">Problem</th>
          </tr>
        </thead>
        <tbody>
          {problems.map(({ column, line, reason }, index) => (
            <tr key={index}>
              <td data-label="Line" class="number">
                {line ?? ""}
              </td>
              <td data-label="Column">{column ?? ""}</td>
              <td data-label="Problem">{reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {count > problems.length && <p>And {(count - problems.length).toLocaleString("en")} more.</p>}
    </section>
  )

/** The explanation of removals, above the list. */
const Leaving = ({ run }: { readonly run: ImportRun }) => (
  <p>
    {run.phase === "reviewing" ? "Accepting removes" : "The import removed"} these from {run.storeDomain}. They stay in
    the catalog and on other stores.
  </p>
)

/** Buttons that decide all undecided conflicts at once. */
const restWords: ReadonlyArray<{ readonly rest: ConflictDecision; readonly name: string }> = [
  { rest: "keep_draft", name: "Keep our draft for all undecided and accept" },
  { rest: "take_store", name: "Take the store's value for all undecided and accept" }
]

/** The last part of the form. The plain accept button is shown when all conflicts are decided. */
const Acceptance = ({ conflicts, refused, run, tally: { undecided } }: ImportShown) => {
  const misfits = refused?.misfits ?? []
  const misfit = misfits.find(({ field }) => field === confirmField)
  const isChosenHere = conflicts.filter(({ decision }) => decision === null).length === undecided
  return (
    <section aria-labelledby="decision">
      <h2 id="decision">Your decision</h2>
      <p>Nothing is written yet, and nobody can change the catalog until you accept or discard this import.</p>
      {isRemovalToConfirm(run.summary) && (
        <label class="pick">
          <input
            type="checkbox"
            name={confirmField}
            value={run.summary.unlinked}
            required
            checked={refused?.isConfirmed ?? false}
            aria-describedby={misfit && misfitId(confirmField)}
            aria-invalid={misfit && "true"}
            autofocus={misfit !== undefined && misfit === misfits[0]}
          />
          Yes, remove these {counted(run.summary.unlinked, "entity", "entities")} from {run.storeDomain}
        </label>
      )}
      <FieldMisfit field={confirmField} misfit={misfit} />
      {undecided > 0 && (
        <p>
          {counted(undecided, "conflict is", "conflicts are")} undecided.{" "}
          {isChosenHere
            ? "Choose a value for each and accept the import with your choices."
            : "Choose a value for each in Conflicts and save your decisions; then you can accept the import."}{" "}
          Or decide all undecided conflicts at once:
        </p>
      )}
      <div class="buttons">
        {undecided === 0 ? (
          <button type="submit">Accept the import</button>
        ) : (
          isChosenHere && <button type="submit">Accept with your choices</button>
        )}
        {undecided > 0 &&
          restWords.map(({ name, rest }) => (
            <button key={rest} type="submit" class="plain" name={restField} value={rest}>
              {name}
            </button>
          ))}
      </div>
    </section>
  )
}

/** The parts of an import that the page shows. */
interface ImportShown {
  readonly run: ImportRun
  readonly tab: ImportTab
  /** The rows or conflicts of the tab after `after`, at most `atOnce`. */
  readonly rows: ReadonlyArray<ReviewRow>
  readonly conflicts: ReadonlyArray<ImportConflict>
  readonly after: number | undefined
  readonly atOnce: number
  readonly tally: DecisionTally
  /** The refused form, and the problems of its fields. */
  readonly refused: (RefusedReview & { readonly misfits: ReadonlyArray<Misfit> }) | undefined
}

const Rows = ({ after, atOnce, rows, run, tab }: ImportShown) =>
  tab === "conflicts" ? (
    run.summary.conflicts === 0 && <p class="quiet">There are none.</p>
  ) : (
    <>
      {tab === "leaving" && rows.length > 0 && <Leaving run={run} />}
      <ImportRows run={run} tab={tab} rows={rows} after={after} atOnce={atOnce} />
    </>
  )

/** Choices and acceptance are in one form, so every button sends the choices. */
const Review = ({ csrf, ...shown }: ImportShown & { readonly csrf: string }) => (
  <>
    <form method="post" action={paths.acceptImport}>
      <HiddenFields csrf={csrf} id={shown.run.id} />
      {shown.tab === "conflicts" && shown.run.summary.conflicts > 0 && (
        <ConflictsToDecide
          {...shown}
          after={shown.after ?? 0}
          chosen={shown.refused?.chosen ?? new Map()}
          misfits={shown.refused?.misfits ?? []}
        />
      )}
      <Acceptance {...shown} />
    </form>
    <form method="post" action={paths.discardImport} class="fields">
      <HiddenFields csrf={csrf} id={shown.run.id} />
      <div class="buttons">
        <button type="submit" class="danger">
          Discard the import
        </button>
      </div>
    </form>
  </>
)

/** The lists of the import, and under review the form that accepts it. */
const Lists = ({ csrf, ...shown }: ImportShown & { readonly csrf: string }) => {
  const { after = 0, run, tab } = shown
  const title = listsTitle(run)
  const decided =
    tab === "conflicts" && run.summary.conflicts > 0 ? <ConflictsDecided {...shown} after={after} /> : null
  if (title === undefined) return decided
  return (
    <>
      <h2 id="lists">{title}</h2>
      <ImportTabs run={run} current={tab} />
      <Rows {...shown} />
      {run.phase === "reviewing" ? (
        <Allowed
          to="edit"
          otherwise={
            <>
              {decided}
              <p>Somebody with the role Edit reviews it.</p>
            </>
          }
        >
          <Review {...shown} csrf={csrf} />
        </Allowed>
      ) : (
        decided
      )}
    </>
  )
}

/** Shown while a process works on the import. */
const Working = ({ run }: { readonly run: ImportRun }) => (
  <p>
    {run.phase === "fetching"
      ? `The ${run.fileName === null ? "store" : "file"} is being read and compared with the catalog. Nothing is written before you accept it.`
      : "The import is being applied. The catalog is locked until then."}{" "}
    You can leave this page. <a href={pageOf(paths.import, run.id)}>Reload</a>
  </p>
)

/** `reading`: the progress of reading; `now`: the time in milliseconds. */
export const ImportPage = ({
  note,
  now,
  reading,
  visitor,
  ...shown
}: ImportShown & {
  readonly visitor: Visitor
  readonly reading: ReadingProgress | undefined
  readonly now: number
  readonly note?: string | undefined
}) => {
  const { refused, run } = shown
  return (
    <Frame title={importTitle(english, run)} visitor={visitor} current={paths.imports} isLockShown>
      {note !== undefined && (
        <Note>
          <p>{note}</p>
        </Note>
      )}
      <Refusal text={refused?.message} />
      <Live id="import" on={[`import:${run.id}`]} says={progressSentence(run, reading)}>
        {run.error !== null && (
          <Alert>
            <p>{run.error}</p>
          </Alert>
        )}
        <StepsOf run={run} reading={reading} />
        {(run.phase === "fetching" || run.phase === "applying") && <Working run={run} />}
        <ProgressOf run={run} reading={reading} now={now} />
        <Facts run={run} />
        <Problems {...run.summary} />
        {isRead(run) && <Summary run={run} />}
        <Lists {...shown} csrf={visitor.csrf} />
      </Live>
      <p>
        <a href={paths.imports}>All imports</a>
      </p>
    </Frame>
  )
}
