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
import type { Sentence, Words } from "../languages/Words.tsx"
import { EntityLink, importTitle } from "../Naming.tsx"
import { dropPath, issuesPath, pageOf, paths, publishStoreOf } from "../Paths.ts"
import { everyFailed } from "../stores/PublishStorePage.tsx"
import { Allowed, useMay, useWords } from "../Viewer.tsx"
import { spoken, Text } from "../Wording.tsx"

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

const upTo = (t: Words, count: number) => (count >= maxCounted ? `${t.number(maxCounted)}+` : t.number(count))
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
}) => {
  const t = useWords()
  return (
    <Todo
      tone="bad"
      action={
        store.platform !== "none" &&
        failures.length > 0 &&
        visitor.lock === undefined && (
          <Allowed to="publish">
            <form method="post" action={paths.publishSelected}>
              <HiddenFields csrf={visitor.csrf} id={store.id} />
              <input type="hidden" name={everyFailed} value="yes" />
              <button type="submit" class="plain">
                {t.rich("Retry all<spoken> on {store}</spoken>", { store: store.name, spoken })}
              </button>
            </form>
          </Allowed>
        )
      }
    >
      <p>
        {t.rich("<strong>{count} failed</strong> to publish to {store}", {
          count: upTo(t, failed),
          store: <Text>{store.name}</Text>
        })}
      </p>
      {causesOf(failures)
        .slice(0, 3)
        .map(([message, number]) => (
          <p key={message} class="quiet">
            {t.rich("{count, plural, one {# time} other {# times}}: {cause}", {
              count: number,
              cause: <Text>{t.say(message)}</Text>
            })}
          </p>
        ))}
      {failures.length > 0 && (
        <details>
          <summary>
            {t.rich(
              failures.length > maxListed
                ? "Show the newest {count, number}<spoken> of {store}</spoken>"
                : "Show them<spoken> of {store}</spoken>",
              { count: maxListed, store: store.name, spoken }
            )}
          </summary>
          <ul>
            {failures.slice(0, maxListed).map(({ entityId, entityType, title }) => (
              <li key={entityId}>
                <EntityLink id={entityId} kind={entityType} title={title} />
              </li>
            ))}
          </ul>
          <a href={`${paths.products}?${new URLSearchParams({ store_id: store.id, state: "failed" })}`}>
            {t.rich("All products that failed<spoken> on {store}</spoken>", { store: store.name, spoken })}
          </a>
        </details>
      )}
    </Todo>
  )
}

const Dropping = ({ drop, now }: { readonly drop: DropRow; readonly now: number }) => {
  const t = useWords()

  const starts = Date.parse(drop.starts_at) > now
  return (
    <Todo tone="busy" action={<a href={dropPath(drop.id)}>{t("Open")}</a>}>
      <p>
        {t.rich(
          starts ? "{drop} starts {when}" : drop.ends_at === null ? "{drop} started {when}" : "{drop} ends {when}",
          {
            drop: (
              <strong>
                <Text>{drop.name}</Text>
              </strong>
            ),
            when: <Ago at={starts || drop.ends_at === null ? drop.starts_at : drop.ends_at} now={now} />
          }
        )}
      </p>
      <p class="quiet">{t("{count, plural, one {# change} other {# changes}}", { count: drop.changes })}</p>
    </Todo>
  )
}

const NeedsYou = ({ counts, drops, failures, incomplete, now, stores, visitor }: HomeContent) => {
  const t = useWords()

  const { lock } = visitor
  const things = [
    ...(lock === undefined
      ? []
      : [
          <Todo key="import" tone="wait" action={<a href={pageOf(paths.import, lock.id)}>{t("Decide")}</a>}>
            <p>
              {t.rich("<strong>{count, plural, one {# conflict} other {# conflicts}}</strong> in: {import}", {
                count: lock.summary.conflicts,
                import: importTitle(t, lock)
              })}
            </p>
            <p class="quiet">{t("Nothing else can be changed until it is accepted or discarded.")}</p>
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
          <Todo key="required" tone="wait" action={<a href={issuesPath("completeness-required")}>{t("Show")}</a>}>
            <p>
              {t.rich(
                "{count, plural, one {<strong># entity</strong> lacks a required field} other {<strong># entities</strong> lack a required field}}",
                { count: incomplete }
              )}
            </p>
            <p class="quiet">{t("By the last scan of data health.")}</p>
          </Todo>
        ]),
    ...drops.map((drop) => <Dropping key={drop.id} drop={drop} now={now} />)
  ]
  return (
    <section aria-labelledby="needs">
      <h2 id="needs">{t("Needs you")}</h2>
      {things.length === 0 ? (
        <p class="sheet quiet">{t("Nothing at the moment.")}</p>
      ) : (
        <ul class="sheet todo">{things}</ul>
      )}
    </section>
  )
}

interface Figure {
  readonly count: number
  readonly name: Sentence
  readonly tone: string
  readonly path: string
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
  const t = useWords()

  const { failed = 0, publishing = 0, unpublished = 0 } = counts ?? {}
  const mayPublish = useMay("publish")
  const listPath = (state: string) => `${paths.products}?${new URLSearchParams({ store_id: store.id, state })}`
  const all: ReadonlyArray<Figure> = [
    { count: failed, name: "{count} failed<spoken> on {store}</spoken>", tone: "bad", path: listPath("failed") },
    {
      count: publishing,
      name: "{count} publishing<spoken> on {store}</spoken>",
      tone: "busy",
      path: listPath("publishing")
    },
    {
      count: unpublished,
      name: "{count} to publish<spoken> on {store}</spoken>",
      tone: "wait",
      path: mayPublish ? publishStoreOf(store.id) : listPath("changed")
    }
  ]
  const figures = all.filter(({ count }) => count > 0)
  return (
    <li class="sheet">
      <h3>
        <a href={`${paths.products}?${new URLSearchParams({ store_id: store.id })}`}>
          <Text>{store.name}</Text>
        </a>
      </h3>
      <p class="quiet">
        {store.currency}, {store.primary_locale}.{" "}
        {store.last_imported_at === null
          ? t("Never refreshed")
          : t.rich("Refreshed {when}", { when: <Ago at={store.last_imported_at} now={now} /> })}
      </p>
      <ul class="states">
        {store.platform === "none" ? (
          <li>
            <span class="state idle">{t("Files only")}</span>
          </li>
        ) : figures.length === 0 ? (
          <li>
            <span class="state good">{t("All published")}</span>
          </li>
        ) : (
          figures.map(({ count, name, path, tone }) => (
            <li key={name}>
              <a class={`state calm ${tone}`} href={path}>
                {t.rich(name, { count: upTo(t, count), store: store.name, spoken })}
              </a>
            </li>
          ))
        )}
      </ul>
    </li>
  )
}

/** What to do first, until there are stores and products. */
const FirstSteps = ({ hasProducts, stores }: HomeContent) => {
  const t = useWords()
  return stores.length > 0 && hasProducts ? null : (
    <section aria-labelledby="first">
      <h2 id="first">{t("First steps")}</h2>
      <ul class="sheet todo">
        <Todo tone={stores.length > 0 ? "busy" : "wait"} action={<a href={paths.stores}>{t("Stores")}</a>}>
          <p>
            <strong>{t("Link a store.")}</strong>{" "}
            {stores.length > 0 ? t("Done.") : t("The administrator links it with the command line.")}
          </p>
        </Todo>
        <Todo tone={hasProducts ? "busy" : "wait"} action={<a href={paths.imports}>{t("Imports")}</a>}>
          <p>
            <strong>{t("Bring in your products.")}</strong>{" "}
            {hasProducts ? t("Done.") : t("Refresh the store, or import its product export.")}
          </p>
        </Todo>
        <Todo tone="wait" action={<a href={paths.connections}>{t("Agents")}</a>}>
          <p>{t.rich("<strong>Connect an agent,</strong> if one should work with you.")}</p>
        </Todo>
      </ul>
    </section>
  )
}

/** The states of the stores in a sentence, for screen readers. */
const statesIn = (t: Words, { counts, stores }: HomeContent): string =>
  stores
    .map(({ id, name }) => {
      const { failed = 0, publishing = 0 } = counts.find(({ storeId }) => storeId === id) ?? {}
      return t("{store}: {publishing} publishing, {failed} failed.", {
        store: name,
        publishing: upTo(t, publishing),
        failed: upTo(t, failed)
      })
    })
    .join(" ")

export const HomePage = (content: HomeContent) => {
  const t = useWords()

  const { counts, now, stores, visitor } = content
  return (
    <Frame title={t("Home")} visitor={visitor} current={paths.home} isLockShown={visitor.lock?.phase === "reviewing"}>
      <Live id="now" on={workKinds} says={statesIn(t, content)}>
        <FirstSteps {...content} />
        <NeedsYou {...content} />
        {stores.length > 0 && (
          <section aria-labelledby="stores">
            <h2 id="stores">{t("Stores")}</h2>
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
