import type { EntityRecord, EntityRow, StoreVersion } from "../../catalog/Entity.ts"
import type { HistoryEntry } from "../../drafts/History.ts"
import { type AttributeTriple, type EntityKind, listed } from "../../model/Attribute.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Alert, Frame, HiddenFields, Note, Time } from "../Frame.tsx"
import { Domain, EntityLink, kindWords, PublishStateOf, titleOr } from "../Naming.tsx"
import { newDropOf, pageOf, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { readable, Value } from "../Values.tsx"
import { EntityHistory } from "./EntityHistory.tsx"
import { sectionOf } from "./ListPages.ts"

type Related = Readonly<Record<"variants" | "media" | "collections" | "products", ReadonlyArray<EntityRow>>> & {
  readonly next_cursor: string | null
}

const Facts = ({ kind, record }: { readonly kind: EntityKind; readonly record: EntityRecord }) => (
  <div class="sheet">
    <dl>
      <dt>Kind</dt>
      <dd>{kindWords[kind]}</dd>
      <dt>Id</dt>
      <dd>
        <code>{record.id}</code>
      </dd>
      <dt>Draft</dt>
      <dd>Revision {record.draftRevision}</dd>
      <dt>Last publish</dt>
      <dd>
        <PublishStateOf status={record.lastPublishStatus} pendingPublish={record.pendingPublish} />
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={record.createdAt} />
      </dd>
      <dt>Changed</dt>
      <dd>
        <Time at={record.updatedAt} /> <span class="quiet">in the catalog, without store overrides</span>
      </dd>
    </dl>
  </div>
)

type OnStore = EntityRecord["stores"][number]

/** A form with this field publishes even if the store has accepted the same values already. */
export const againField = "again"

/** Publishes the draft that the page shows. */
const Publish = ({
  csrf,
  draftRevision,
  id,
  on: { pending_publish, store_domain, store_id },
  store
}: {
  readonly csrf: string
  readonly id: EntityId
  readonly draftRevision: number
  readonly on: OnStore
  readonly store: Store | undefined
}) => {
  const word = pending_publish ? "Publish" : "Publish again"
  if (store === undefined || store.platform === "none")
    return (
      <span class="quiet">{pending_publish ? "Unpublished: the store has no platform" : "Nothing to publish"}</span>
    )
  return (
    <form method="post" action={paths.publishEntity}>
      {!pending_publish && (
        <>
          <span class="quiet">Nothing to publish</span>
          <input type="hidden" name={againField} value="yes" />
        </>
      )}
      <HiddenFields csrf={csrf} id={id} />
      <input type="hidden" name="store_id" value={store_id} />
      <input type="hidden" name="draft_revision" value={String(draftRevision)} />
      <button type="submit" class="plain" aria-label={`${word} to ${store_domain}`}>
        {word}
      </button>
    </form>
  )
}

const OnStores = ({
  csrf,
  record: { draftRevision, id, stores },
  linked
}: {
  readonly record: EntityRecord
  readonly linked: ReadonlyArray<Store>
  readonly csrf: string
}) => (
  <section aria-labelledby="stores">
    <h2 id="stores">Stores</h2>
    {stores.length === 0 ? (
      <p class="quiet">It is on no store.</p>
    ) : (
      <Table
        labelledBy="stores"
        columns={["Store", "Last publish", "Published", "Draft"]}
        rows={stores.map((on) => ({
          key: on.store_id,
          cells: [
            <Domain name={on.store_domain} />,
            <>
              <PublishStateOf status={on.last_publish_status} pendingPublish={on.pending_publish} />
              {on.last_publish_error !== null && (
                <div class="wrong">
                  {on.last_publish_error.message} (<code>{on.last_publish_error.code}</code>)
                </div>
              )}
            </>,
            on.published_at === null ? "never" : <Time at={on.published_at} />,
            <Publish
              csrf={csrf}
              id={id}
              draftRevision={draftRevision}
              on={on}
              store={linked.find((each) => each.id === on.store_id)}
            />
          ]
        }))}
      />
    )}
    {stores.some(({ store_id }) => linked.some(({ id, platform }) => id === store_id && platform !== "none")) && (
      <p>
        <a href={newDropOf(id)}>Schedule a drop</a>
      </p>
    )}
  </section>
)

/** The values on stores, if they differ from the canonical value. */
const differing = ({ key, value }: AttributeTriple, versions: ReadonlyArray<StoreVersion>) =>
  versions.flatMap((version) => {
    const there = version.attributes.find((attribute) => attribute.key === key)?.value ?? ""
    return there === value ? [] : [{ domain: version.store_domain, value: there }]
  })

/** The canonical attributes, then the attributes that exist only on stores, with an empty value. */
const everyAttribute = (kind: EntityKind, record: EntityRecord, versions: ReadonlyArray<StoreVersion>) => {
  const canonical = listed(kind, record.attributes)
  const known = new Set(canonical.map(({ key }) => key))
  const others = versions.flatMap(({ attributes }) => attributes).filter(({ key }) => !known.has(key))
  return [...canonical, ...new Map(others.map((each) => [each.key, { ...each, value: "" }])).values()]
}

const Overrides = ({
  attribute,
  versions
}: {
  readonly attribute: AttributeTriple
  readonly versions: ReadonlyArray<StoreVersion>
}) => {
  const others = differing(attribute, versions)
  return others.length === 0 ? (
    <span class="quiet">{versions.length === 0 ? "on no store" : "none"}</span>
  ) : (
    <ul>
      {others.map(({ domain, value }) => (
        <li key={domain}>
          {domain}: <Value text={readable(value, attribute.type)} />
        </li>
      ))}
    </ul>
  )
}

const Values = ({
  kind,
  record,
  versions
}: {
  readonly kind: EntityKind
  readonly record: EntityRecord
  readonly versions: ReadonlyArray<StoreVersion>
}) => (
  <section aria-labelledby="values">
    <h2 id="values">Values</h2>
    <Table
      labelledBy="values"
      columns={["Field", "In the catalog", "Store overrides"]}
      rows={everyAttribute(kind, record, versions).map((attribute) => ({
        key: attribute.key,
        cells: [
          <code>{attribute.key}</code>,
          <Value text={readable(attribute.value, attribute.type)} />,
          <Overrides attribute={attribute} versions={versions} />
        ]
      }))}
    />
  </section>
)

const relations = [
  { list: "products", name: "Products" },
  { list: "variants", name: "Variants" },
  { list: "collections", name: "Collections" },
  { list: "media", name: "Media files" }
] as const

const RelatedTo = ({ related }: { readonly related: Related }) => {
  const filled = relations.filter(({ list }) => related[list].length > 0)
  return filled.length === 0 ? null : (
    <section aria-labelledby="related">
      <h2 id="related">Related</h2>
      <div class="sheet">
        <dl>
          {filled.flatMap(({ list, name }) => [
            <dt key={list}>{name}</dt>,
            ...related[list].map(({ id, title, type }) => (
              <dd key={id}>
                <EntityLink id={id} kind={type} title={title} />
              </dd>
            ))
          ])}
        </dl>
        {related.next_cursor !== null && <p class="quiet">Only the first are listed.</p>}
      </div>
    </section>
  )
}

/** The result of the last publish request. */
export type PublishResult =
  | { readonly _tag: "Requested" | "Nothing"; readonly domain: string }
  | { readonly _tag: "Refused"; readonly message: string }

const ResultNote = ({ id, result }: { readonly result: PublishResult; readonly id: EntityId }) => {
  switch (result._tag) {
    case "Requested":
      return (
        <Note>
          <p>
            The publish to {result.domain} is requested and runs in the background. Its state is shown under Stores.{" "}
            <a href={pageOf(paths.entity, id)}>Reload</a>
          </p>
        </Note>
      )
    case "Nothing":
      return (
        <Note>
          <p>There was nothing to publish: {result.domain} has this draft already.</p>
        </Note>
      )
    case "Refused":
      return (
        <Alert>
          <p>{result.message}</p>
        </Alert>
      )
  }
}

/** `canShowMore`: whether a longer history can be shown; `linked`: the stores of the account. */
export const EntityPage = ({
  canShowMore,
  history,
  kind,
  linked,
  record,
  related,
  result,
  versions,
  visitor
}: {
  readonly visitor: Visitor
  readonly result: PublishResult | undefined
  readonly linked: ReadonlyArray<Store>
  readonly kind: EntityKind
  readonly record: EntityRecord
  readonly versions: ReadonlyArray<StoreVersion>
  readonly related: Related
  readonly history: ReadonlyArray<HistoryEntry>
  readonly canShowMore: boolean
}) => (
  <Frame title={titleOr(kind, record.title)} visitor={visitor} current={sectionOf(kind)}>
    {result !== undefined && <ResultNote id={record.id} result={result} />}
    <Facts kind={kind} record={record} />
    <OnStores record={record} linked={linked} csrf={visitor.csrf} />
    <Values kind={kind} record={record} versions={versions} />
    <RelatedTo related={related} />
    <EntityHistory
      history={history}
      more={canShowMore ? `${pageOf(paths.entity, record.id)}&history=all#history` : undefined}
    />
  </Frame>
)
