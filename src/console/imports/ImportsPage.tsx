import type { ImportRun } from "../../imports/Import.ts"
import type { Store } from "../../model/Store.ts"
import { uploadMegabytes, type Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { english } from "../languages/Words.tsx"
import { counted, Domain, importTitle } from "../Naming.tsx"
import { pageOf, paths } from "../Paths.ts"
import { StoreChoice } from "../StoreChoice.tsx"
import { Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { isRead, PhaseOf } from "./ImportPhases.tsx"
import { progressSentence } from "./ImportProgress.tsx"

/** The changes of an import, in one line. */
const summaryOf = (run: ImportRun): string => {
  const { phase, summary } = run
  if (phase === "fetching") return "Not known yet"
  if (!isRead(run)) return "Nothing was read"
  const { collections, conflicts, created, files, unchanged, unlinked, updated } = summary
  const counts = [
    [created, "new"],
    [updated, "changed"],
    [unchanged, "unchanged"]
  ] as const
  const others = collections.created + collections.updated + files.created + files.updated
  const parts = [
    `Products: ${counts.map(([count, what]) => `${count.toLocaleString("en")} ${what}`).join(", ")}`,
    ...(others > 0 ? [counted(others, "other change")] : []),
    ...(unlinked > 0 ? [`${unlinked.toLocaleString("en")} no longer in the store`] : []),
    ...(conflicts > 0 ? [counted(conflicts, "conflict")] : [])
  ]
  return parts.join("; ")
}

const Pages = ({ from, shown, total }: { readonly from: number; readonly shown: number; readonly total: number }) => (
  <nav class="pages" aria-label="Pages of imports">
    {from > 0 && <a href={paths.imports}>To the newest</a>}
    {from + shown < total && <a href={`${paths.imports}?from=${from + shown}`}>Older imports</a>}
  </nav>
)

/** The form that uploads a product export. While an import locks the account, a link to that import instead. */
const Upload = ({
  csrf,
  holder,
  stores
}: {
  readonly csrf: string
  readonly stores: ReadonlyArray<Store>
  readonly holder: ImportRun | undefined
}) => (
  <section aria-labelledby="upload">
    <h2 id="upload">Import a product export</h2>
    {holder !== undefined ? (
      <p class="quiet">
        A file can be imported when <a href={pageOf(paths.import, holder.id)}>{importTitle(english, holder)}</a>{" "}
        {holder.phase === "applying" ? "is applied." : "is accepted or discarded."}
      </p>
    ) : (
      <form class="sheet line" method="post" action={paths.imports} enctype="multipart/form-data">
        <HiddenFields csrf={csrf} />
        <StoreChoice stores={stores} chosen={stores.length === 1 ? stores[0]?.id : undefined} isRequired />
        <label>
          {`Shopify export (CSV, up to ${uploadMegabytes} MB)`}
          <input type="file" name="file" accept=".csv,.tsv,.txt,text/csv" required />
        </label>
        <button type="submit">Read the file</button>
      </form>
    )}
  </section>
)

/** `runs`: one page of imports, newest first, without the first `from`; `holder`: the import that locks the account. */
export const ImportsPage = ({
  from,
  holder,
  runs,
  stores,
  total,
  visitor
}: {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly holder: ImportRun | undefined
  readonly runs: ReadonlyArray<ImportRun>
  readonly from: number
  readonly total: number
}) => (
  <Frame title="Imports" visitor={visitor} current={paths.imports}>
    <p>
      Imports from your stores, newest first. An import changes nothing until you accept it. Refresh a store with a
      platform under <a href={paths.stores}>Stores</a>. For other stores, import a file.
    </p>
    <Live
      id="imports"
      on={["import"]}
      says={runs
        .filter(({ phase }) => phase === "fetching" || phase === "applying")
        .map((run) => progressSentence(run, undefined))
        .join(" ")}
    >
      {runs.length === 0 ? (
        <p class="quiet">{total === 0 ? "There are no imports yet." : "There are no more imports."}</p>
      ) : (
        <Table
          columns={["Import", "State", "Changes", "Began", "Last change"]}
          rows={runs.map((run) => ({
            key: run.id,
            cells: [
              <>
                <a href={pageOf(paths.import, run.id)}>{run.fileName ?? "Refresh"}</a>
                <div class="quiet">
                  <Domain name={run.storeDomain} />
                </div>
              </>,
              <PhaseOf phase={run.phase} />,
              <>
                {summaryOf(run)}
                {run.error !== null && <div class="wrong">{run.error}</div>}
              </>,
              <Time at={run.createdAt} />,
              <Time at={run.updatedAt} />
            ]
          }))}
        />
      )}
    </Live>
    {total > runs.length && <Pages from={from} shown={runs.length} total={total} />}
    {stores.length > 0 && (
      <Allowed to="edit">
        <Upload csrf={visitor.csrf} stores={stores} holder={holder} />
      </Allowed>
    )}
  </Frame>
)
