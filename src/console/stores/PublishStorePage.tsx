import type { Job } from "../../jobs/Job.ts"
import type { EntityKind } from "../../model/Attribute.ts"
import type { Store } from "../../model/Store.ts"
import type { PendingCount, PendingEntity } from "../../publishing/PublicationRecord.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Refusal } from "../Frame.tsx"
import { Island } from "../Island.tsx"
import { countOf, EntityLink } from "../Naming.tsx"
import { jobPath, paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"

const kindsInOrder: ReadonlyArray<EntityKind> = ["product", "collection", "variant", "media"]

const sum = (counts: ReadonlyArray<number>) => counts.reduce((total, count) => total + count, 0)

/** The name of the checkbox of an entity, before its id. */
export const selectedPrefix = "publish-"

/** The name of the field that is `yes` if everything is published whose last publish failed. */
export const everyFailed = "failed"

/** The first unpublished drafts, each with a checkbox. */
const Selection = ({
  entities,
  store,
  visitor,
  waiting
}: {
  readonly visitor: Visitor
  readonly store: Store
  readonly entities: ReadonlyArray<PendingEntity>
  readonly waiting: number
}) => {
  const t = useWords()
  return (
    <form method="post" action={paths.publishSelected} aria-labelledby="some">
      <h2 id="some">{t("Publish some of them")}</h2>
      <HiddenFields csrf={visitor.csrf} id={store.id} />
      {entities.length < waiting && (
        <p class="quiet">{t("The first {count, number} are listed here.", { count: entities.length })}</p>
      )}
      <Island name="SelectAll" prefix={selectedPrefix} all={entities.length} />
      <ul class="plain">
        {entities.map(({ id, kind, title }) => (
          <li key={id}>
            <label>
              <input type="checkbox" name={`${selectedPrefix}${id}`} value="yes" />{" "}
              <span class="spoken">{t("Publish")} </span>
              <EntityLink id={id} kind={kind} title={title} />
            </label>
          </li>
        ))}
      </ul>
      <button type="submit">{t("Publish the selected")}</button>
    </form>
  )
}

/** Cancels all publishes to a store that wait for its platform. */
const CancelAll = ({ store, visitor }: { readonly visitor: Visitor; readonly store: Store }) => {
  const t = useWords()
  return (
    <form method="post" action={paths.cancelPublishes}>
      <HiddenFields csrf={visitor.csrf} id={store.id} />
      <p class="quiet">
        {t(
          "Cancelling ends the publishes that were not sent, and the job that requests more. Their changes stay in the drafts, except changes of drops."
        )}
      </p>
      <button type="submit" class="plain">
        {t("Cancel all publishes that wait")}
      </button>
    </form>
  )
}

/**
 * Unpublished drafts of a store. `delay`: why publishes to it wait for its platform. `job`: the open job that works on the store. `refusal`:
 * why the last form was refused.
 */
export const PublishStorePage = ({
  counts,
  delay,
  entities,
  job,
  refusal,
  store,
  visitor
}: {
  readonly visitor: Visitor
  readonly store: Store
  readonly counts: ReadonlyArray<PendingCount>
  readonly entities: ReadonlyArray<PendingEntity>
  readonly delay: string | null
  readonly job: Job | undefined
  readonly refusal?: string
}) => {
  const t = useWords()

  const waiting = sum(counts.map((each) => each.waiting))
  const underWay = sum(counts.map((each) => each.underWay))
  const isFree = waiting > 0 && job === undefined
  return (
    <Frame title={t("Publish to {store}", { store: store.name })} visitor={visitor} current={paths.stores}>
      <nav class="trail" aria-label={t("Breadcrumb")}>
        <a href={paths.stores}>{t("All stores")}</a>
      </nav>
      <Refusal text={refusal} />
      <div class="sheet">
        {job !== undefined && (
          <p>
            {t.rich("A job works on this store: {job}.", { job: <a href={jobPath(job.id)}>{t.say(job.title)}</a> })}
          </p>
        )}
        {waiting === 0 ? (
          <p>{t("There is nothing to publish.")}</p>
        ) : (
          <>
            <p>{t("{count, plural, one {# unpublished draft} other {# unpublished drafts}}:", { count: waiting })}</p>
            <ul>
              {kindsInOrder.flatMap((kind) => {
                const count = counts.find((each) => each.kind === kind)?.waiting ?? 0
                return count === 0 ? [] : [<li key={kind}>{countOf(t, kind, count)}</li>]
              })}
            </ul>
          </>
        )}
        {underWay > 0 && (
          <p>{t("{count, plural, one {# is} other {# are}} being published already.", { count: underWay })}</p>
        )}
        {delay !== null && (
          <>
            <p>{t.say(delay)}</p>
            <CancelAll visitor={visitor} store={store} />
          </>
        )}
        {isFree && (
          <>
            <p class="quiet">
              {t(
                "Products are published first, with variants and media that the store never had. The rest depends on live products and follows when they are published."
              )}
            </p>
            <form method="post" action={paths.publishStore}>
              <HiddenFields csrf={visitor.csrf} id={store.id} />
              <button type="submit">{t("Publish all")}</button>
            </form>
          </>
        )}
      </div>
      {isFree && <Selection visitor={visitor} store={store} entities={entities} waiting={waiting} />}
    </Frame>
  )
}
