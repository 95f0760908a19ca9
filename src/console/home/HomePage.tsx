import { Fragment } from "preact"
import { countIn, maxCounted, type StoreCounts } from "../../catalog/StoreCounts.sql.ts"
import type { DropRow } from "../../drops/Drop.ts"
import { workKinds } from "../../events/WorkEvent.ts"
import { EntityKind } from "../../model/Attribute.ts"
import { filesOnly, type Store } from "../../model/Store.ts"
import { Ago } from "../Ago.tsx"
import type { Visitor } from "../Browser.ts"
import { listPages } from "../entities/ListPages.ts"
import { currencyName, languageName } from "../entities/StoreLanguage.ts"
import { Frame, HiddenFields } from "../Frame.tsx"
import { everyDimension } from "../health/HealthPage.tsx"
import { Live } from "../Live.tsx"
import type { Words } from "../languages/Words.tsx"
import { importTitle } from "../Naming.tsx"
import { issuesPath, jobPath, pageOf, paths, publishStoreOf } from "../Paths.ts"
import { everyFailed } from "../stores/PublishStorePage.tsx"
import { Allowed, useMay, useWords } from "../Viewer.tsx"
import { spoken, Text } from "../Wording.tsx"
import { DayDrop, DropsOfDay, needsAttention } from "./DayDrops.tsx"
import { FirstSteps, type StepsDone } from "./FirstSteps.tsx"
import { Todo } from "./Todo.tsx"

interface HomeContent {
  readonly visitor: Visitor
  readonly stores: ReadonlyArray<Store>
  readonly counts: ReadonlyArray<StoreCounts>
  /** Drops that start or end on this day of the visitor, and those that need somebody. */
  readonly drops: ReadonlyArray<DropRow>
  /** Number of undecided conflicts of the import that locks the account. */
  readonly undecided: number
  /** Number of entities without a required field, by the last scan. Undefined: not scanned. */
  readonly incomplete: number | undefined
  readonly hasProducts: boolean
  /** The first steps that are done. Undefined: all are, or this browser hides them. */
  readonly steps: StepsDone | undefined
  readonly now: number
}

/** The counts of a store. A store that was linked since they were read has none. */
const countsOf = (counts: ReadonlyArray<StoreCounts>, { id }: Store): StoreCounts =>
  counts.find(({ storeId }) => storeId === id) ?? {
    storeId: id,
    isEmpty: true,
    hasPublications: false,
    counts: [],
    causes: [],
    causeCount: 0,
    delay: null
  }

type CountedState = StoreCounts["counts"][number]["state"]

/** A number of a store's versions, with the list that has them. */
interface Figure {
  readonly count: number
  readonly kind: EntityKind
  readonly path: string
}

/** The versions of a store in a state, by kind: each kind has a list of its own. */
const figuresOf = ({ counts, storeId }: StoreCounts, state: CountedState): ReadonlyArray<Figure> =>
  EntityKind.literals.flatMap((kind) =>
    counts
      .filter((each) => each.kind === kind && each.state === state)
      .map(({ count }) => ({
        count,
        kind,
        path: `${listPages[kind].path}?${new URLSearchParams({ store_id: storeId, state })}`
      }))
  )

/** A number, with a plus if `total`, which it is a part of, was not counted to its end. */
const countText = (t: Words, count: number, total: number) => `${t.number(count)}${total < maxCounted ? "" : "+"}`

/** The failed publishes of a store, with their causes, and a form that publishes all of them again. */
const FailedPublishes = ({
  counts,
  store,
  visitor
}: {
  readonly visitor: Visitor
  readonly store: Store
  readonly counts: StoreCounts
}) => {
  const t = useWords()
  const { causeCount, causes } = counts
  const failed = countIn(counts, "failed")
  const moreCauses = causeCount - causes.length
  return (
    <Todo
      tone="bad"
      action={
        store.platform !== filesOnly &&
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
          count: countText(t, failed, failed),
          store: <Text>{store.name}</Text>
        })}
      </p>
      {causes.map(({ count, message }) => (
        <p key={message} class="quiet">
          {t.rich(
            failed < maxCounted
              ? "{count, plural, one {# time} other {# times}}: {cause}"
              : "At least {count, plural, one {# time} other {# times}}: {cause}",
            { count, cause: <Text>{t.say(message)}</Text> }
          )}
        </p>
      ))}
      {moreCauses > 0 && (
        <p class="quiet">{t("{count, plural, one {# more cause} other {# more causes}}", { count: moreCauses })}</p>
      )}
      <p>
        {t.rich("Show<spoken> what failed on {store}</spoken>", { store: store.name, spoken })}:{" "}
        {figuresOf(counts, "failed").map(({ count, kind, path }, index) => (
          <Fragment key={kind}>
            {index > 0 && t(", ")}
            <a href={path}>
              {t("{kind} ({count})", { kind: t(listPages[kind].name), count: countText(t, count, failed) })}
            </a>
          </Fragment>
        ))}
      </p>
    </Todo>
  )
}

/** Whether a person has to end the lock of the account. */
const isForPerson = ({ isPaused, phase }: NonNullable<Visitor["lock"]>) => phase === "reviewing" || isPaused

/** The next step of the import that locks the account. */
const LockingImport = ({
  lock,
  undecided
}: {
  readonly lock: NonNullable<Visitor["lock"]>
  readonly undecided: number
}) => {
  const t = useWords()
  const title = importTitle(t, lock)
  return (
    <Todo
      tone="wait"
      action={
        <Allowed to="edit" otherwise={<a href={pageOf(paths.import, lock.id)}>{t("Open")}</a>}>
          <a href={lock.isPaused ? jobPath(lock.id) : pageOf(paths.import, lock.id)}>
            {t(lock.isPaused ? "Resume or cancel it" : undecided > 0 ? "Decide" : "Accept or discard")}
          </a>
        </Allowed>
      }
    >
      <p>
        {lock.isPaused
          ? t.rich("<strong>Paused:</strong> {import}", { import: title })
          : undecided > 0
            ? t.rich(
                "<strong>{count, plural, one {# undecided conflict} other {# undecided conflicts}}</strong> in: {import}",
                { count: undecided, import: title }
              )
            : t.rich("<strong>Ready to be accepted:</strong> {import}", { import: title })}
      </p>
      <p class="quiet">
        {t(
          lock.isPaused
            ? "The catalog cannot be changed until the import is resumed or cancelled."
            : "The catalog cannot be changed until the import is accepted or discarded."
        )}
      </p>
    </Todo>
  )
}

const NeedsYou = ({ counts, drops, hasProducts, incomplete, now, stores, undecided, visitor }: HomeContent) => {
  const t = useWords()

  const { lock } = visitor
  const things = [
    ...(lock === undefined || !isForPerson(lock)
      ? []
      : [<LockingImport key="import" lock={lock} undecided={undecided} />]),
    ...stores.flatMap((store) => {
      const own = countsOf(counts, store)
      return countIn(own, "failed") === 0
        ? []
        : [<FailedPublishes key={store.id} visitor={visitor} store={store} counts={own} />]
    }),
    ...(incomplete === undefined && hasProducts
      ? [
          <Todo
            key="scan"
            tone="idle"
            action={
              <Allowed to="edit" otherwise={<a href={paths.health}>{t("Open")}</a>}>
                <form method="post" action={paths.scanHealth}>
                  <HiddenFields csrf={visitor.csrf} />
                  <input type="hidden" name="dimension" value={everyDimension} />
                  <button type="submit" class="plain">
                    {t("Scan everything")}
                  </button>
                </form>
              </Allowed>
            }
          >
            <p>{t.rich("<strong>Data health</strong> was not scanned yet.")}</p>
            <p class="quiet">{t("A scan finds empty required fields and other issues.")}</p>
          </Todo>
        ]
      : []),
    ...(incomplete === undefined || incomplete === 0
      ? []
      : [
          <Todo key="required" tone="wait" action={<a href={issuesPath("completeness-required")}>{t("Show")}</a>}>
            <p>
              {t.rich(
                "{count, plural, one {<strong># item</strong> lacks a required field} other {<strong># items</strong> lack a required field}}",
                { count: incomplete }
              )}
            </p>
            <p class="quiet">{t("As of the last scan of data health.")}</p>
          </Todo>
        ]),
    ...drops
      .filter((drop) => needsAttention(drop, now, lock))
      .map((drop) => <DayDrop key={drop.id} drop={drop} now={now} lock={lock} />)
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

/** The states of a store's card, without that of changes that are not published. */
const cardStates = [
  { state: "failed", name: "{count} failed<spoken> on {store}</spoken>", tone: "bad" },
  { state: "publishing", name: "{count} publishing<spoken> on {store}</spoken>", tone: "busy" }
] as const

/** The states of changes that are not published, for visitors who may not publish them. */
const unpublishedStates = [
  { state: "changed", name: "{count} changed<spoken> on {store}</spoken>", tone: "wait" },
  { state: "unpublished", name: "{count} not published<spoken> on {store}</spoken>", tone: "idle" }
] as const

const StoreStates = ({ counts, store }: { readonly store: Store; readonly counts: StoreCounts }) => {
  const t = useWords()
  const mayPublish = useMay("publish")
  const toPublish = countIn(counts, "changed", "unpublished")
  const states = [...cardStates, ...(mayPublish ? [] : unpublishedStates)]
  const links = states.flatMap(({ name, state, tone }) => {
    const figures = figuresOf(counts, state)
    const total = state === "failed" || state === "publishing" ? countIn(counts, state) : toPublish
    return figures.map(({ count, kind, path }) => (
      <li key={`${state} ${kind}`}>
        <a class={`state calm ${tone}`} href={path}>
          {kind !== "product" && `${t(listPages[kind].name)}: `}
          {t.rich(name, { count: countText(t, count, total), store: store.name, spoken })}
        </a>
      </li>
    ))
  })
  return (
    <ul class="states">
      {links}
      {counts.delay !== null && <li class="quiet">{t.say(counts.delay)}</li>}
      {mayPublish && toPublish > 0 && (
        <li>
          <a class="state calm wait" href={publishStoreOf(store.id)}>
            {t.rich("{count} to publish<spoken> on {store}</spoken>", {
              count: countText(t, toPublish, toPublish),
              store: store.name,
              spoken
            })}
          </a>
        </li>
      )}
      {counts.counts.length === 0 && (
        <li>
          {counts.isEmpty ? (
            <span class="state idle">{t("No products yet")}</span>
          ) : (
            <span class="state good">{t("All published")}</span>
          )}
        </li>
      )}
    </ul>
  )
}

const StoreCard = ({
  counts,
  now,
  store
}: {
  readonly store: Store
  readonly counts: StoreCounts
  readonly now: number
}) => {
  const t = useWords()
  const isFilesOnly = store.platform === filesOnly
  return (
    <li class="sheet">
      <h3>
        <a href={`${paths.products}?${new URLSearchParams({ store_id: store.id })}`}>
          <Text>{store.name}</Text>
        </a>
      </h3>
      <p class="quiet">
        {languageName(t, store.primary_locale)}
        {t(", ")}
        {currencyName(t, store.currency)}.{" "}
        {store.last_imported_at === null
          ? !isFilesOnly && t("Never refreshed")
          : t.rich(isFilesOnly ? "Last import {when}" : "Refreshed {when}", {
              when: <Ago at={store.last_imported_at} now={now} />
            })}
      </p>
      {isFilesOnly ? (
        <ul class="states">
          <li>
            <span class="state idle">{t("Files only")}</span>
          </li>
          {counts.isEmpty && (
            <li>
              <span class="state idle">{t("No products yet")}</span>
            </li>
          )}
        </ul>
      ) : (
        <StoreStates store={store} counts={counts} />
      )}
    </li>
  )
}

/** The states of the stores in a sentence, for screen readers. */
const statesIn = (t: Words, { counts, stores }: HomeContent): string =>
  stores
    .map((store) => {
      const own = countsOf(counts, store)
      const [publishing, failed] = [countIn(own, "publishing"), countIn(own, "failed")]
      return t("{store}: {publishing} publishing, {failed} failed.", {
        store: store.name,
        publishing: countText(t, publishing, publishing),
        failed: countText(t, failed, failed)
      })
    })
    .join(" ")

export const HomePage = (content: HomeContent) => {
  const t = useWords()

  const { counts, now, steps, stores, visitor } = content
  const firstSteps = steps !== undefined && <FirstSteps csrf={visitor.csrf} done={steps} />
  return (
    <Frame
      title={t("Home")}
      visitor={visitor}
      current={paths.home}
      isLockShown={visitor.lock !== undefined && isForPerson(visitor.lock)}
    >
      <Live id="now" on={workKinds} says={statesIn(t, content)}>
        {stores.length === 0 && firstSteps}
        <NeedsYou {...content} />
        <DropsOfDay {...content} />
        {stores.length > 0 && (
          <section aria-labelledby="stores">
            <h2 id="stores">{t("Stores")}</h2>
            <ul class="strip">
              {stores.map((store) => (
                <StoreCard key={store.id} store={store} counts={countsOf(counts, store)} now={now} />
              ))}
            </ul>
          </section>
        )}
        {stores.length > 0 && firstSteps}
      </Live>
    </Frame>
  )
}
