import { Option } from "effect"
import type { ImportRun } from "../../imports/Import.ts"
import type { StoreId } from "../../model/Ids.ts"
import { nothingToCount, type PublishCounts } from "../../model/PublishState.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import type { Permission } from "../../platform/PlatformAdapter.ts"
import type { FailedPublication } from "../../publishing/PublicationRecord.ts"
import type { CredentialTest } from "../../stores/StoresRepo.ts"
import type { Visitor } from "../Browser.ts"
import { currencyName, languageName } from "../entities/StoreLanguage.ts"
import { Facts } from "../Field.tsx"
import { Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Saying, Sentence, Words } from "../languages/Words.tsx"
import { Domain, EntityLink, State } from "../Naming.tsx"
import { exportCsvOf, issuesPath, pageOf, paths, publishStoreOf, storeChannelsOf } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed, useMay, useWords } from "../Viewer.tsx"
import { linkStoreOf, unlinkStoreOf, WithoutPermission } from "./LinkStorePage.tsx"

const languagesOf = (t: Words, { locales, primary_locale }: Store) =>
  locales
    .map((locale) => {
      const language = languageName(t, locale)
      return locale === primary_locale && locales.length > 1 ? t("{language} (main)", { language }) : language
    })
    .join(t(", "))

/** Counts of a store's entities by publish state, with links to their lists. */
const Tally = ({ counts, store }: { readonly counts: PublishCounts; readonly store: Store }) => {
  const t = useWords()

  const isFilesOnly = store.platform === filesOnly
  const mayPublish = useMay("publish")
  const figures: ReadonlyArray<{
    readonly name: Sentence
    readonly count: number
    readonly isBad?: boolean
    /** Counts items that other figures count too. */
    readonly isApart?: boolean
    readonly path?: string
  }> = isFilesOnly
    ? // Nothing can be published to a store without a platform.
      [{ name: "items", count: counts.published + counts.pending + counts.failed + counts.neverPublished }]
    : [
        { name: "live", count: counts.published },
        { name: "publishing", count: counts.pending },
        { name: "failed", count: counts.failed, isBad: counts.failed > 0, path: "#failures" },
        {
          name: "not published",
          count: counts.neverPublished,
          path: issuesPath("sync-never-published", { storeId: store.id })
        },
        {
          name: "to publish",
          count: counts.pendingPublish,
          isApart: true,
          ...(mayPublish && { path: publishStoreOf(store.id) })
        }
      ]
  return (
    <ul class="tally" aria-label={t("Items by publish state")}>
      {figures.map(({ count, isApart = false, isBad = false, name, path }) => (
        <li key={name} class={isBad ? "bad" : isApart ? "apart" : undefined}>
          <strong>{t.number(count)}</strong>{" "}
          {path === undefined || count === 0 ? (
            t(name)
          ) : (
            <a href={path} aria-label={`${t(name)}: ${store.name}`}>
              {t(name)}
            </a>
          )}
        </li>
      ))}
    </ul>
  )
}

const Delay = ({ why }: { readonly why: string | null }) => {
  const t = useWords()
  return why === null ? null : <p class="quiet">{t.say(why)}</p>
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
}) => {
  const t = useWords()
  return store.platform === filesOnly || isLocked || counts.pendingPublish === 0 ? null : (
    <Allowed to="publish">
      <p>
        <a href={publishStoreOf(store.id)} aria-label={t("Publish all changes: {store}", { store: store.name })}>
          {t("Publish all changes")}
        </a>
      </p>
    </Allowed>
  )
}

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
  const t = useWords()

  if (running !== undefined)
    return (
      <p>
        {t.rich("Being read since {time}.", { time: <Time at={running.createdAt} /> })}{" "}
        <a href={pageOf(paths.import, running.id)}>{t("See the refresh")}</a>
      </p>
    )
  if (store.platform === filesOnly || isLocked) return null
  return (
    <Allowed to="edit">
      <form method="post" action={paths.refreshStore}>
        <HiddenFields csrf={csrf} id={store.id} />
        <button type="submit" class="plain" aria-label={t("Refresh {store} from its platform", { store: store.name })}>
          {t("Refresh")}
        </button>
      </form>
    </Allowed>
  )
}

/** The download of the store's products, and the one that counts as the publish of a store without a platform. */
const Export = ({ csrf, store }: { readonly store: Store; readonly csrf: string }) => {
  const t = useWords()
  return (
    <>
      <p>
        <a
          href={exportCsvOf(store.id)}
          aria-label={t("Download products (CSV) of {store}", { store: store.name })}
          download
        >
          {t("Download products (CSV)")}
        </a>
      </p>
      {store.platform === filesOnly && (
        <Allowed to="publish">
          <form method="post" action={paths.exportCsv}>
            <HiddenFields csrf={csrf} id={store.id} />
            <button
              type="submit"
              class="plain"
              aria-label={t("Download and count as published: {store}", { store: store.name })}
            >
              {t("Download and count as published")}
            </button>
          </form>
        </Allowed>
      )}
    </>
  )
}

/** `failures`: the newest failures; `total`: number of all failures. */
const Failures = ({
  failures,
  total
}: {
  readonly failures: ReadonlyArray<FailedPublication>
  readonly total: number
}) => {
  const t = useWords()
  return (
    <section aria-labelledby="failures">
      <h2 id="failures">{t("Failed to publish")}</h2>
      {failures.length === 0 ? (
        <p class="quiet">{t("None.")}</p>
      ) : (
        <>
          {total > failures.length && (
            <p>{t("The newest {count, number} of {all, number}:", { count: failures.length, all: total })}</p>
          )}
          <Table
            labelledBy="failures"
            columns={[t("Item"), t("Store"), t("When"), t("Why")]}
            rows={failures.map(
              ({ attempts, entityId, entityType, error, finishedAt, storeDomain, storeId, title }) => ({
                key: `${entityId} ${storeId}`,
                cells: [
                  <EntityLink id={entityId} kind={entityType} title={title} />,
                  <Domain name={storeDomain} />,
                  finishedAt === null ? t("More than 30 days ago") : <Time at={finishedAt} />,
                  <>
                    {t.say(error.message)}{" "}
                    <span class="quiet">
                      (<code>{error.code}</code>
                      {attempts !== null && attempts > 1
                        ? t(", tried {count, plural, one {# time} other {# times}}", { count: attempts })
                        : ""}
                      )
                    </span>
                  </>
                ]
              })
            )}
          />
        </>
      )}
    </section>
  )
}

/** The states of the stores in a sentence, for screen readers. */
const statesIn = (t: Words, stores: ReadonlyArray<Store>, counts: ReadonlyMap<StoreId, PublishCounts>): string =>
  stores
    .map(({ id, name }) => {
      const { failed, pending } = counts.get(id) ?? nothingToCount
      return t("{store}: {publishing} publishing, {failed} failed.", {
        store: name,
        publishing: t.number(pending),
        failed: t.number(failed)
      })
    })
    .join(" ")

/** The store's answer to the last test of its token. `missing`: the optional permissions that the token lacks. */
const TokenState = ({
  missing,
  test
}: {
  readonly test: CredentialTest | undefined
  readonly missing: ReadonlyArray<Permission>
}) => {
  const t = useWords()
  if (test === undefined) return <>{t("not tested yet")}</>
  const time = <Time at={test.testedAt} />
  return test.refusal === null ? (
    <>
      <State name="Accepted by the store" tone="good" /> <span class="quiet">{time}</span>
      {missing.map((permission) => (
        <div key={permission.name}>
          <WithoutPermission permission={permission} />
        </div>
      ))}
    </>
  ) : (
    <>
      <State name="Refused by the store" tone="bad" /> <span class="quiet">{time}</span> {t.say(test.refusal)}
    </>
  )
}

/** The button that tests a store's token, and the links that replace it, choose sales channels and unlink the store. */
const LinkActions = ({
  csrf,
  hasChannels,
  hasToken,
  store
}: {
  readonly store: Store
  readonly csrf: string
  readonly hasChannels: boolean
  readonly hasToken: boolean
}) => {
  const t = useWords()
  return (
    <Allowed to="admin">
      {hasToken && (
        <form method="post" action={paths.testStoreToken}>
          <HiddenFields csrf={csrf} id={store.id} />
          <button type="submit" class="plain" aria-label={t("Test the token of {store}", { store: store.name })}>
            {t("Test the token")}
          </button>
        </form>
      )}
      <p class="inline">
        {hasToken && (
          <a
            href={linkStoreOf(store.platform, store.domain)}
            aria-label={t("Replace the token of {store}", { store: store.name })}
          >
            {t("Replace the token")}
          </a>
        )}{" "}
        {hasChannels && (
          <a href={storeChannelsOf(store.id)} aria-label={t("Sales channels of {store}", { store: store.name })}>
            {t("Sales channels")}
          </a>
        )}{" "}
        <a href={unlinkStoreOf(store.id)} aria-label={t("Unlink {store}", { store: store.name })}>
          {t("Unlink")}
        </a>
      </p>
    </Allowed>
  )
}

/** `platformName`: the name of a platform on pages. */
export const StoresPage = ({
  counts,
  credentialTests,
  delays,
  failures,
  fetching,
  hasChannels,
  hasToken,
  holder,
  note,
  permissionsOf,
  platformName,
  stores,
  visitor
}: {
  readonly visitor: Visitor
  readonly platformName: (platform: string) => string
  /** Whether stores of a platform are linked with a token. */
  readonly hasToken: (platform: string) => boolean
  /** Whether the sales channels for new records can be chosen on stores of a platform. */
  readonly hasChannels: (platform: string) => boolean
  /** The optional permissions that the token of a store on a platform lacked in a test. */
  readonly permissionsOf: (platform: string, test: CredentialTest | undefined) => ReadonlyArray<Permission>
  readonly note: Saying | undefined
  readonly stores: ReadonlyArray<Store>
  readonly counts: ReadonlyMap<StoreId, PublishCounts>
  readonly credentialTests: ReadonlyMap<StoreId, CredentialTest>
  /** Why publishes to a store wait for its platform. */
  readonly delays: ReadonlyMap<StoreId, string | null>
  readonly failures: ReadonlyArray<FailedPublication>
  /** The imports whose source is being read or compared. */
  readonly fetching: ReadonlyArray<ImportRun>
  /** The import that locks the account. */
  readonly holder: Option.Option<ImportRun>
}) => {
  const t = useWords()
  const isLocked = Option.isSome(holder)
  return (
    <Frame
      title={t("Stores")}
      visitor={visitor}
      current={paths.stores}
      actions={
        <Allowed to="admin">
          <a class="button" href={paths.linkStore}>
            {t("Link a store")}
          </a>
        </Allowed>
      }
    >
      {note !== undefined && <Note>{t.say(note)}</Note>}
      <Live id="states" on={["publish", "import", "job"]} says={statesIn(t, stores, counts)}>
        <section aria-labelledby="linked">
          <h2 id="linked">{t("Linked stores")}</h2>
          {stores.length === 0 ? (
            <p class="quiet">{t("There are no stores yet. An administrator links them here.")}</p>
          ) : (
            <ul class="records">
              {stores.map((store) => (
                <li class="sheet" key={store.id}>
                  <div>
                    <h3>{store.name}</h3>
                    <Facts
                      of={[
                        [t("Domain"), <bdi>{store.domain}</bdi>],
                        [t("Platform"), platformName(store.platform)],
                        [t("Languages"), languagesOf(t, store)],
                        [t("Currency"), currencyName(t, store.currency)],
                        [
                          t("Last import"),
                          store.last_imported_at === null ? t("never") : <Time at={store.last_imported_at} />
                        ],
                        hasToken(store.platform) && [
                          t("Token"),
                          <TokenState
                            test={credentialTests.get(store.id)}
                            missing={permissionsOf(store.platform, credentialTests.get(store.id))}
                          />
                        ]
                      ]}
                    />
                    <Tally counts={counts.get(store.id) ?? nothingToCount} store={store} />
                    <Delay why={delays.get(store.id) ?? null} />
                    <PublishAll counts={counts.get(store.id) ?? nothingToCount} store={store} isLocked={isLocked} />
                    <Export store={store} csrf={visitor.csrf} />
                    <LinkActions
                      store={store}
                      csrf={visitor.csrf}
                      hasChannels={hasChannels(store.platform)}
                      hasToken={hasToken(store.platform)}
                    />
                  </div>
                  <Refresh
                    store={store}
                    csrf={visitor.csrf}
                    running={fetching.find(({ storeId }) => storeId === store.id)}
                    isLocked={isLocked}
                  />
                </li>
              ))}
            </ul>
          )}
        </section>
      </Live>
      <section aria-labelledby="export">
        <h2 id="export">{t("Export the catalog")}</h2>
        <p>
          <a href={paths.exportJsonl} download>
            {t("Download the whole catalog as JSON lines")}
          </a>
        </p>
        <p class="quiet">{t("Every product, variant, collection and media file, with the values of each store.")}</p>
      </section>
      <Live id="failed" on={["publish"]}>
        <Failures failures={failures} total={[...counts.values()].reduce((total, { failed }) => total + failed, 0)} />
      </Live>
    </Frame>
  )
}
