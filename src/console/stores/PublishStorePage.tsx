import type { EntityKind } from "../../model/Attribute.ts"
import type { Store } from "../../model/Store.ts"
import type { PendingCount } from "../../publishing/PublicationRecord.ts"
import type { AskedPending, PendingPlace } from "../../publishing/Publishing.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Note } from "../Frame.tsx"
import { counted, EntityLink } from "../Naming.tsx"
import { paths } from "../Paths.ts"

const kindsInOrder: ReadonlyArray<readonly [EntityKind, string, string]> = [
  ["product", "product", "products"],
  ["collection", "collection", "collections"],
  ["variant", "variant", "variants"],
  ["media", "media file", "media files"]
]

/** Maximum number of refused entities that the page lists. */
const maxReasons = 5

const sum = (counts: ReadonlyArray<number>) => counts.reduce((total, count) => total + count, 0)

const Refused = ({ refused }: { readonly refused: AskedPending["refused"] }) => (
  <>
    <p>{`${refused.length.toLocaleString("en")} could not be published:`}</p>
    <ul>
      {refused.slice(0, maxReasons).map(({ id, kind, message, title }) => (
        <li key={id}>
          <EntityLink id={id} kind={kind} title={title} />: {message}
        </li>
      ))}
    </ul>
    {refused.length > maxReasons && (
      <p class="quiet">{`And ${(refused.length - maxReasons).toLocaleString("en")} more. They stay unpublished.`}</p>
    )}
  </>
)

/** Counts of a store's unpublished drafts, and the result of the last batch. `place`: the next batch; null: nothing is left. */
export const PublishStorePage = ({
  answer,
  counts,
  place,
  store,
  visitor
}: {
  readonly visitor: Visitor
  readonly store: Store
  readonly counts: ReadonlyArray<PendingCount>
  readonly answer: AskedPending | undefined
  readonly place: PendingPlace | null
}) => {
  const waiting = sum(counts.map((each) => each.waiting))
  const underWay = sum(counts.map((each) => each.underWay))
  return (
    <Frame title={`Publish to ${store.name}`} visitor={visitor} current={paths.stores}>
      <nav class="trail" aria-label="Trail">
        <a href={paths.stores}>All stores</a>
      </nav>
      {answer !== undefined && (
        <Note>
          <p>{`${counted(answer.asked, "publish", "publishes")} requested. Publishing runs in the background.`}</p>
          {answer.refused.length > 0 && <Refused refused={answer.refused} />}
        </Note>
      )}
      <div class="sheet">
        {waiting === 0 ? (
          <p>There is nothing to publish.</p>
        ) : (
          <>
            <p>{`${counted(waiting, "unpublished draft")}:`}</p>
            <ul>
              {kindsInOrder.flatMap(([kind, one, many]) => {
                const count = counts.find((each) => each.kind === kind)?.waiting ?? 0
                return count === 0 ? [] : [<li key={kind}>{counted(count, one, many)}</li>]
              })}
            </ul>
          </>
        )}
        {underWay > 0 && (
          <p>{`${underWay.toLocaleString("en")} ${underWay === 1 ? "is" : "are"} being published already.`}</p>
        )}
        {waiting > 0 && place !== null && (
          <>
            <p class="quiet">
              {place.part === "products"
                ? "Products are published first, with variants and media that the store never had. The rest depends on live products and follows in a second step."
                : "Collections and variants depend on live products: continue when the products have been published."}
            </p>
            <form method="post" action={paths.publishStore}>
              <HiddenFields csrf={visitor.csrf} id={store.id} />
              <input type="hidden" name="part" value={place.part} />
              <input type="hidden" name="after" value={place.after} />
              <button type="submit">{answer === undefined ? "Publish all" : "Continue with the rest"}</button>
            </form>
          </>
        )}
      </div>
    </Frame>
  )
}
