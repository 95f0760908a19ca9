import type { EntityKind } from "../../model/Attribute.ts"
import type { Store } from "../../model/Store.ts"
import type { PendingCount } from "../../publishing/PublicationRecord.ts"
import type { AskedPending, PendingPlace } from "../../publishing/Publishing.ts"
import type { Visitor } from "../Browser.ts"
import { CsrfField, Frame, Note } from "../Frame.tsx"
import { counted, EntityLink } from "../Naming.tsx"
import { paths } from "../Paths.ts"

const kindsInOrder: ReadonlyArray<readonly [EntityKind, string, string]> = [
  ["product", "product", "products"],
  ["collection", "collection", "collections"],
  ["variant", "variant", "variants"],
  ["media", "media file", "media files"]
]

/** Reasons that are told of one piece. */
const mostReasons = 5

const sum = (counts: ReadonlyArray<number>) => counts.reduce((total, count) => total + count, 0)

const Refused = ({ refused }: { readonly refused: AskedPending["refused"] }) => (
  <>
    <p>{`${refused.length.toLocaleString("en")} could not be asked for, because:`}</p>
    <ul>
      {refused.slice(0, mostReasons).map(({ id, kind, message, title }) => (
        <li key={id}>
          <EntityLink id={id} kind={kind} title={title} />: {message}
        </li>
      ))}
    </ul>
    {refused.length > mostReasons && (
      <p class="quiet">{`And ${(refused.length - mostReasons).toLocaleString("en")} more, which go on waiting.`}</p>
    )}
  </>
)

/** What a store waits for, and what came of the piece that was asked for. `place`: where the form begins; null: nothing is left. */
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
          <p>{`Asked for ${answer.asked.toLocaleString("en")}. They are published in the background.`}</p>
          {answer.refused.length > 0 && <Refused refused={answer.refused} />}
        </Note>
      )}
      <div class="sheet">
        {waiting === 0 ? (
          <p>Nothing waits to be published.</p>
        ) : (
          <>
            <p>{`${counted(waiting, "draft")} ${waiting === 1 ? "waits" : "wait"} to be published:`}</p>
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
                ? "Products are asked for first: they bring the variants and media that the store never had. The rest needs products that are live, and follows in a step of its own."
                : "Collections and variants need products that are live on the store: go on when the products have been published."}
            </p>
            <form method="post" action={paths.publishStore}>
              <CsrfField csrf={visitor.csrf} />
              <input type="hidden" name="id" value={store.id} />
              <input type="hidden" name="part" value={place.part} />
              <input type="hidden" name="after" value={place.after} />
              <button type="submit">{answer === undefined ? "Publish all of it" : "Go on with the rest"}</button>
            </form>
          </>
        )}
      </div>
    </Frame>
  )
}
