import { holderOf, type ImportRun } from "../../imports/Import.ts"
import type { StoreId } from "../../model/Ids.ts"
import { nothingToCount, type PublishCounts } from "../../model/PublishState.ts"
import type { Store } from "../../model/Store.ts"
import type { FailedPublication } from "../../publishing/PublicationRecord.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { Domain, EntityLink } from "../Naming.tsx"
import { exportCsvOf, issuesPath, pageOf, paths, publishStoreOf } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed, useMay } from "../Viewer.tsx"

/** Counts of a store's entities by publish state, with links to their lists. */
const Tally = ({ counts, store }: { readonly counts: PublishCounts; readonly store: Store }) => {
  const isFilesOnly = store.platform === "none"
  const mayPublish = useMay("publish")
  const figures: ReadonlyArray<{
    readonly name: string
    readonly count: number
    readonly isBad?: boolean
    readonly path?: string
  }> = isFilesOnly
    ? // Nothing can be published to a store without a platform.
      [{ name: "entities", count: counts.published + counts.pending + counts.failed + counts.neverPublished }]
    : [
        { name: "live", count: counts.published },
        { name: "publishing", count: counts.pending },
        { name: "changed", count: counts.pendingPublish, ...(mayPublish && { path: publishStoreOf(store.id) }) },
        { name: "failed", count: counts.failed, isBad: counts.failed > 0, path: "#failures" },
        {
          name: "not published",
          count: counts.neverPublished,
          path: issuesPath("sync-never-published", { storeId: store.id })
        }
      ]
  return (
    <ul class="tally" aria-label="Entities by publish state">
      {figures.map(({ count, isBad = false, name, path }) => (
        <li key={name} class={isBad ? "bad" : undefined}>
          <strong>{count.toLocaleString("en")}</strong>{" "}
          {path === undefined || count === 0 ? (
            name
          ) : (
            <a href={path} aria-label={`${name}: ${store.name}`}>
              {name}
            </a>
          )}
        </li>
      ))}
    </ul>
  )
}

/** The link that publishes all changes, unless an import locks the account. */
const PublishAll = ({
  counts,
  isLocked,
  store
}: {
  readonly counts: PublishCounts
  readonly store: Store
  readonly isLocked: boolean
}) =>
  store.platform === "none" || isLocked || counts.pendingPublish === 0 ? null : (
    <Allowed to="publish">
      <p>
        <a href={publishStoreOf(store.id)} aria-label={`Publish all changes: ${store.name}`}>
          Publish all changes
        </a>
      </p>
    </Allowed>
  )

/** The button that starts a refresh, or a link to the refresh that is running. */
const Refresh = ({
  csrf,
  isLocked,
  running,
  store
}: {
  readonly store: Store
  readonly csrf: string
  readonly running: ImportRun | undefined
  readonly isLocked: boolean
}) => {
  if (running !== undefined)
    return (
      <p>
        Being read since <Time at={running.createdAt} />. <a href={pageOf(paths.import, running.id)}>See the refresh</a>
      </p>
    )
  if (store.platform === "none" || isLocked) return null
  return (
    <Allowed to="edit">
      <form method="post" action={paths.refreshStore}>
        <HiddenFields csrf={csrf} id={store.id} />
        <button type="submit" class="plain" aria-label={`Refresh ${store.name} from its platform`}>
          Refresh
        </button>
      </form>
    </Allowed>
  )
}

/** The download of the store's products, and the one that counts as the publish of a store without a platform. */
const Export = ({ csrf, store }: { readonly store: Store; readonly csrf: string }) => (
  <>
    <p>
      <a href={exportCsvOf(store.id)} aria-label={`Download products (CSV) of ${store.name}`} download>
        Download products (CSV)
      </a>
    </p>
    {store.platform === "none" && (
      <Allowed to="publish">
        <form method="post" action={paths.exportCsv}>
          <HiddenFields csrf={csrf} id={store.id} />
          <button type="submit" class="plain" aria-label={`Download and count as published: ${store.name}`}>
            Download and count as published
          </button>
        </form>
      </Allowed>
    )}
  </>
)

/** `failures`: the newest failures; `total`: number of all failures. */
const Failures = ({
  failures,
  total
}: {
  readonly failures: ReadonlyArray<FailedPublication>
  readonly total: number
}) => (
  <section aria-labelledby="failures">
    <h2 id="failures">Failed to publish</h2>
    {failures.length === 0 ? (
      <p class="quiet">None.</p>
    ) : (
      <>
        {total > failures.length && <p>{`The newest ${failures.length} of ${total.toLocaleString("en")}:`}</p>}
        <Table
          labelledBy="failures"
          columns={["Entity", "Store", "When", "Why"]}
          rows={failures.map(({ attempts, entityId, entityType, error, finishedAt, storeDomain, storeId, title }) => ({
            key: `${entityId} ${storeId}`,
            cells: [
              <EntityLink id={entityId} kind={entityType} title={title} />,
              <Domain name={storeDomain} />,
              finishedAt === null ? "More than 30 days ago" : <Time at={finishedAt} />,
              <>
                {error.message}{" "}
                <span class="quiet">
                  (<code>{error.code}</code>
                  {attempts !== null && attempts > 1 ? `, tried ${attempts} times` : ""})
                </span>
              </>
            ]
          }))}
        />
      </>
    )}
  </section>
)

/** The states of the stores in a sentence, for screen readers. */
const statesIn = (stores: ReadonlyArray<Store>, counts: ReadonlyMap<StoreId, PublishCounts>): string =>
  stores
    .map(({ id, name }) => {
      const { failed, pending } = counts.get(id) ?? nothingToCount
      return `${name}: ${pending} publishing, ${failed} failed.`
    })
    .join(" ")

/** `platformName`: the name of a platform on pages. */
export const StoresPage = ({
  counts,
  failures,
  platformName,
  runs,
  stores,
  visitor
}: {
  readonly visitor: Visitor
  readonly platformName: (platform: string) => string
  readonly stores: ReadonlyArray<Store>
  readonly counts: ReadonlyMap<StoreId, PublishCounts>
  readonly failures: ReadonlyArray<FailedPublication>
  readonly runs: ReadonlyArray<ImportRun>
}) => {
  const holder = holderOf(runs)
  return (
    <Frame title="Stores" visitor={visitor} current={paths.stores}>
      <Live id="states" on={["publish", "import", "job"]} says={statesIn(stores, counts)}>
        <section aria-labelledby="linked">
          <h2 id="linked">Linked stores</h2>
          {stores.length === 0 ? (
            <p class="quiet">There are no stores yet. Ask the administrator to link one.</p>
          ) : (
            <ul class="records">
              {stores.map((store) => (
                <li class="sheet" key={store.id}>
                  <div>
                    <h3>{store.name}</h3>
                    <dl>
                      <dt>Domain</dt>
                      <dd>{store.domain}</dd>
                      <dt>Platform</dt>
                      <dd>{platformName(store.platform)}</dd>
                      <dt>Languages</dt>
                      <dd>
                        {store.locales
                          .map((locale) =>
                            locale === store.primary_locale && store.locales.length > 1 ? `${locale} (main)` : locale
                          )
                          .join(", ")}
                      </dd>
                      <dt>Currency</dt>
                      <dd>{store.currency}</dd>
                      <dt>Last import</dt>
                      <dd>{store.last_imported_at === null ? "never" : <Time at={store.last_imported_at} />}</dd>
                    </dl>
                    <Tally counts={counts.get(store.id) ?? nothingToCount} store={store} />
                    <Export store={store} csrf={visitor.csrf} />
                    <PublishAll
                      counts={counts.get(store.id) ?? nothingToCount}
                      store={store}
                      isLocked={holder !== undefined}
                    />
                  </div>
                  <Refresh
                    store={store}
                    csrf={visitor.csrf}
                    running={runs.find(({ phase, storeId }) => phase === "fetching" && storeId === store.id)}
                    isLocked={holder !== undefined}
                  />
                </li>
              ))}
            </ul>
          )}
        </section>
      </Live>
      <section aria-labelledby="export">
        <h2 id="export">Take the catalog out</h2>
        <p>
          <a href={paths.exportJsonl} download>
            Download the whole catalog as JSON lines
          </a>
        </p>
        <p class="quiet">Every product, variant, collection and media file, with the values of each store.</p>
      </section>
      <Live id="failed" on={["publish"]}>
        <Failures failures={failures} total={[...counts.values()].reduce((total, { failed }) => total + failed, 0)} />
      </Live>
    </Frame>
  )
}
