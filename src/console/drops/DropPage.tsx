import type { Drop } from "../../drops/Drop.ts"
import type { EntityId } from "../../model/Ids.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, HiddenFields, Note, Refusal } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { english } from "../languages/Words.tsx"
import { paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { EntityName, Key, ShortValue } from "../Wording.tsx"
import { Where } from "./DropsPage.tsx"
import { DropTime, Outcome, Status, statusSentence } from "./DropWords.tsx"

/** Maximum length of a value that is not folded, in characters. */
const maxShown = 160

const Whole = ({ value }: { readonly value: string }) => {
  const { length } = [...value]
  return length <= maxShown ? (
    <span class="value">
      <ShortValue>{value}</ShortValue>
    </span>
  ) : (
    <>
      <ShortValue>{value}</ShortValue>
      <details>
        <summary>All {length.toLocaleString("en")} characters</summary>
        <div class="value" dir="auto">
          {value}
        </div>
      </details>
    </>
  )
}

/** `titles`: titles of entities that still exist; `refusal`: why the drop could not be cancelled. */
export const DropPage = ({
  drop,
  note,
  refusal,
  stores,
  titles,
  visitor
}: {
  readonly visitor: Visitor
  readonly drop: Drop
  readonly stores: ReadonlyArray<Store>
  readonly titles: ReadonlyMap<EntityId, string>
  readonly note?: string | undefined
  readonly refusal?: string
}) => (
  <Frame title={drop.name} visitor={visitor} current={paths.drops}>
    <nav class="trail" aria-label="Trail">
      <a href={paths.drops}>All drops</a>
    </nav>
    <Refusal text={refusal} />
    {note !== undefined && <Note>{note}</Note>}
    <Live id="drop" on={[`drop:${drop.id}`, "publish"]} says={statusSentence(english, drop)}>
      <div class="sheet">
        <dl>
          <dt>State</dt>
          <dd>
            <Status status={drop.status} />
          </dd>
          <dt>Starts</dt>
          <dd>
            <DropTime at={drop.starts_at} timezone={drop.timezone} />
          </dd>
          <dt>Ends</dt>
          <dd>
            {drop.ends_at === null ? (
              "never: the new values stay"
            ) : (
              <DropTime at={drop.ends_at} timezone={drop.timezone} />
            )}
          </dd>
        </dl>
        {drop.status === "scheduled" && (
          <Allowed to="publish">
            <form method="post" action={paths.cancelDrop}>
              <HiddenFields csrf={visitor.csrf} id={drop.id} />
              <p>
                <button type="submit" class="danger">
                  Cancel the drop
                </button>
              </p>
            </form>
          </Allowed>
        )}
      </div>
      <section aria-labelledby="changes">
        <h2 id="changes">Changes</h2>
        {drop.changes.length === 0 ? (
          <p class="quiet">There are none: the store is no longer linked.</p>
        ) : (
          <Table
            name="Changes of the drop"
            columns={["Entity", "Store", "Field", "New value", "Outcome"]}
            rows={drop.changes.map((change, index) => ({
              key: String(index),
              cells: [
                <EntityName id={change.entity_id} kind={change.entity_type} title={titles.get(change.entity_id)} />,
                <Where change={change} stores={stores} />,
                <Key>{change.field}</Key>,
                <Whole value={change.value} />,
                <div>
                  <Outcome outcome={change.outcome} />
                  {change.error !== null && (
                    <p class="wrong">
                      <bdi>{change.error.message}</bdi>
                    </p>
                  )}
                </div>
              ]
            }))}
          />
        )}
      </section>
    </Live>
  </Frame>
)
