import type { ComponentChildren } from "preact"
import { maxCounted, type StoreCounts } from "../../catalog/MerchantListsRepo.ts"
import type { DropRow } from "../../drops/Drop.ts"
import { workKinds } from "../../events/WorkEvent.ts"
import type { Store } from "../../model/Store.ts"
import type { FailedPublication } from "../../publishing/PublicationRecord.ts"
import { Ago } from "../Ago.tsx"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { counted, EntityLink, importTitle } from "../Naming.tsx"
import { dropPath, issuesPath, pageOf, paths, publishStoreOf } from "../Paths.ts"
import { selectedPrefix } from "../stores/PublishStorePage.tsx"
import { Allowed, useMay } from "../Viewer.tsx"
import { Text } from "../Wording.tsx"

export interface HomeContent {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly counts: ReadonlyArray<StoreCounts>
  /** The newest failed publishes. */
  readonly failures: ReadonlyArray<FailedPublication>
  /** Drops that start or end within a day. */
  readonly drops: ReadonlyArray<DropRow>
  /** Number of entities without a required field, by the last scan. Undefined: not scanned. */
  readonly incomplete: number | undefined
  readonly hasProducts: boolean
  readonly now: number
}

const upTo = (count: number) =>
  count >= maxCounted ? `${maxCounted.toLocaleString("en")}+` : count.toLocaleString("en")

/** One thing to do. `tone`: the colour of its dot. */
const Todo = ({
  action,
  children,
  tone
}: {
  readonly tone: "bad" | "wait" | "busy"
  readonly action: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <li>
    <span class={`dot ${tone}`} />
    <div>{children}</div>
    <div>{action}</div>
  </li>
)

/** The causes of failures with their numbers, the most frequent first. */
const causesOf = (failures: ReadonlyArray<FailedPublication>) => {
  const numbers = new Map<string, number>()
  for (const { error } of failures) numbers.set(error.message, (numbers.get(error.message) ?? 0) + 1)
  return [...numbers].sort(([, one], [, other]) => other - one)
}

/** Maximum number of failures that are listed of a store. */
const maxListed = 5

/** The failed publishes of a store, with their causes, and a form that publishes all of them again. */
const FailedPublishes = ({
  failed,
  failures,
  store,
  visitor
}: {
  readonly visitor: Visitor
  readonly store: Store
  readonly failed: number
  readonly failures: ReadonlyArray<FailedPublication>
}) => (
  <Todo
    tone="bad"
    action={
      store.platform !== "none" &&
      failures.length > 0 &&
      visitor.lock === undefined && (
        <Allowed to="publish">
          <form method="post" action={paths.publishSelected}>
            <HiddenFields csrf={visitor.csrf} id={store.id} />
            {failures.map(({ entityId }) => (
              <input key={entityId} type="hidden" name={`${selectedPrefix}${entityId}`} value="yes" />
            ))}
            <button type="submit" class="plain">
              {failures.length === failed ? "Retry all" : `Retry ${failures.length}`}
              <span class="spoken"> on {store.name}</span>
            </button>
          </form>
        </Allowed>
      )
    }
  >
    <p>
      <strong>{upTo(failed)} failed</strong> to publish to <Text>{store.name}</Text>
    </p>
    {causesOf(failures)
      .slice(0, 3)
      .map(([message, number]) => (
        <p key={message} class="quiet">
          {number} {number === 1 ? "time" : "times"}: <Text>{message}</Text>
        </p>
      ))}
    {failures.length > 0 && (
      <details>
        <summary>
          Show {failures.length > maxListed ? `the newest ${maxListed}` : "them"}
          <span class="spoken"> of {store.name}</span>
        </summary>
        <ul>
          {failures.slice(0, maxListed).map(({ entityId, entityType, title }) => (
            <li key={entityId}>
              <EntityLink id={entityId} kind={entityType} title={title} />
            </li>
          ))}
        </ul>
        <a href={`${paths.products}?${new URLSearchParams({ store_id: store.id, state: "failed" })}`}>
          All products that failed<span class="spoken"> on {store.name}</span>
        </a>
      </details>
    )}
  </Todo>
)

const Dropping = ({ drop, now }: { readonly drop: DropRow; readonly now: number }) => {
  const starts = Date.parse(drop.starts_at) > now
  return (
    <Todo tone="busy" action={<a href={dropPath(drop.id)}>Open</a>}>
      <p>
        <strong>
          <Text>{drop.name}</Text>
        </strong>{" "}
        {starts ? "starts" : drop.ends_at === null ? "started" : "ends"}{" "}
        <Ago at={starts || drop.ends_at === null ? drop.starts_at : drop.ends_at} now={now} />
      </p>
      <p class="quiet">{counted(drop.changes, "change")}</p>
    </Todo>
  )
}

const NeedsYou = ({ counts, drops, failures, incomplete, now, stores, visitor }: HomeContent) => {
  const { lock } = visitor
  const things = [
    ...(lock === undefined
      ? []
      : [
          <Todo key="import" tone="wait" action={<a href={pageOf(paths.import, lock.id)}>Decide</a>}>
            <p>
              <strong>{counted(lock.summary.conflicts, "conflict")}</strong> in: {importTitle(lock)}
            </p>
            <p class="quiet">Nothing else can be changed until it is accepted or discarded.</p>
          </Todo>
        ]),
    ...stores.flatMap((store) => {
      const failed = counts.find(({ storeId }) => storeId === store.id)?.failed ?? 0
      const own = failures.filter(({ storeId }) => storeId === store.id)
      return failed === 0
        ? []
        : [<FailedPublishes key={store.id} visitor={visitor} store={store} failed={failed} failures={own} />]
    }),
    ...(incomplete === undefined || incomplete === 0
      ? []
      : [
          <Todo key="required" tone="wait" action={<a href={issuesPath("completeness-required")}>Show</a>}>
            <p>
              <strong>{counted(incomplete, "entity", "entities")}</strong> {incomplete === 1 ? "lacks" : "lack"} a
              required field
            </p>
            <p class="quiet">By the last scan of data health.</p>
          </Todo>
        ]),
    ...drops.map((drop) => <Dropping key={drop.id} drop={drop} now={now} />)
  ]
  return (
    <section aria-labelledby="needs">
      <h2 id="needs">Needs you</h2>
      {things.length === 0 ? <p class="sheet quiet">Nothing at the moment.</p> : <ul class="sheet todo">{things}</ul>}
    </section>
  )
}

const StoreCard = ({
  counts,
  now,
  store
}: {
  readonly store: Store
  readonly counts: StoreCounts | undefined
  readonly now: number
}) => {
  const { failed = 0, publishing = 0, unpublished = 0 } = counts ?? {}
  const mayPublish = useMay("publish")
  const listPath = (state: string) => `${paths.products}?${new URLSearchParams({ store_id: store.id, state })}`
  const figures = [
    { count: failed, name: "failed", tone: "bad", path: listPath("failed") },
    { count: publishing, name: "publishing", tone: "busy", path: listPath("publishing") },
    {
      count: unpublished,
      name: "to publish",
      tone: "wait",
      path: mayPublish ? publishStoreOf(store.id) : listPath("changed")
    }
  ].filter(({ count }) => count > 0)
  return (
    <li class="sheet">
      <h3>
        <a href={`${paths.products}?${new URLSearchParams({ store_id: store.id })}`}>
          <Text>{store.name}</Text>
        </a>
      </h3>
      <p class="quiet">
        {store.currency}, {store.primary_locale}.{" "}
        {store.last_imported_at === null ? (
          "Never refreshed"
        ) : (
          <>
            Refreshed <Ago at={store.last_imported_at} now={now} />
          </>
        )}
      </p>
      <ul class="states">
        {store.platform === "none" ? (
          <li>
            <span class="state idle">Files only</span>
          </li>
        ) : figures.length === 0 ? (
          <li>
            <span class="state good">All published</span>
          </li>
        ) : (
          figures.map(({ count, name, path, tone }) => (
            <li key={name}>
              <a class={`state calm ${tone}`} href={path}>
                {upTo(count)} {name}
                <span class="spoken"> on {store.name}</span>
              </a>
            </li>
          ))
        )}
      </ul>
    </li>
  )
}

/** What to do first, until there are stores and products. */
const FirstSteps = ({ hasProducts, stores }: HomeContent) =>
  stores.length > 0 && hasProducts ? null : (
    <section aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <ul class="sheet todo">
        <Todo tone={stores.length > 0 ? "busy" : "wait"} action={<a href={paths.stores}>Stores</a>}>
          <p>
            <strong>Link a store.</strong>{" "}
            {stores.length > 0 ? "Done." : "The administrator links it with the command line."}
          </p>
        </Todo>
        <Todo tone={hasProducts ? "busy" : "wait"} action={<a href={paths.imports}>Imports</a>}>
          <p>
            <strong>Bring in your products.</strong>{" "}
            {hasProducts ? "Done." : "Refresh the store, or import its product export."}
          </p>
        </Todo>
        <Todo tone="wait" action={<a href={paths.connections}>Agents</a>}>
          <p>
            <strong>Connect an agent,</strong> if one should work with you.
          </p>
        </Todo>
      </ul>
    </section>
  )

/** The states of the stores in a sentence, for screen readers. */
const statesIn = ({ counts, stores }: HomeContent): string =>
  stores
    .map(({ id, name }) => {
      const { failed = 0, publishing = 0 } = counts.find(({ storeId }) => storeId === id) ?? {}
      return `${name}: ${upTo(publishing)} publishing, ${upTo(failed)} failed.`
    })
    .join(" ")

export const HomePage = (content: HomeContent) => {
  const { counts, now, stores, visitor } = content
  return (
    <Frame title="Home" visitor={visitor} current={paths.home} isLockShown={visitor.lock?.phase === "reviewing"}>
      <Live id="now" on={workKinds} says={statesIn(content)}>
        <FirstSteps {...content} />
        <NeedsYou {...content} />
        {stores.length > 0 && (
          <section aria-labelledby="stores">
            <h2 id="stores">Stores</h2>
            <ul class="strip">
              {stores.map((store) => (
                <StoreCard
                  key={store.id}
                  store={store}
                  counts={counts.find(({ storeId }) => storeId === store.id)}
                  now={now}
                />
              ))}
            </ul>
          </section>
        )}
      </Live>
    </Frame>
  )
}
