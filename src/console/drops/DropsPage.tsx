import type { Drop, DropChange } from "../../drops/Drop.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Frame, Time } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { dropPath, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { Key, ShortValue, StoreName, Text } from "../Wording.tsx"
import { Outcome, Status, statusSentence } from "./DropWords.tsx"

/** Maximum number of changes that the list shows of a drop. */
const maxShown = 3

export const Where = ({ change, stores }: { readonly change: DropChange; readonly stores: ReadonlyArray<Store> }) =>
  change.store_id === null ? <span>all stores of the entity</span> : <StoreName id={change.store_id} stores={stores} />

const Change = ({ change, stores }: { readonly change: DropChange; readonly stores: ReadonlyArray<Store> }) => (
  <li>
    <Key>{change.field}</Key> on <Where change={change} stores={stores} />: <ShortValue>{change.value}</ShortValue>
    {change.outcome !== null && (
      <>
        <br />
        <Outcome outcome={change.outcome} />
      </>
    )}
  </li>
)

const Changes = ({ drop, stores }: { readonly drop: Drop; readonly stores: ReadonlyArray<Store> }) => (
  <>
    <ul>
      {drop.changes.slice(0, maxShown).map((change, index) => (
        <Change key={`${change.entity_id} ${index}`} change={change} stores={stores} />
      ))}
    </ul>
    {drop.changes.length > maxShown && (
      <a href={dropPath(drop.id)}>
        and {drop.changes.length - maxShown} more<span class="spoken"> changes of {drop.name}</span>
      </a>
    )}
  </>
)

const DropTable = ({
  drops,
  name,
  stores
}: {
  readonly name: string
  readonly drops: ReadonlyArray<Drop>
  readonly stores: ReadonlyArray<Store>
}) =>
  drops.length === 0 ? (
    <p class="quiet">There are no drops.</p>
  ) : (
    <Table
      name={name}
      columns={["Drop", "State", "Starts", "Ends", "Changes"]}
      rows={drops.map((drop) => ({
        key: drop.id,
        cells: [
          <a href={dropPath(drop.id)}>
            <Text>{drop.name}</Text>
          </a>,
          <Status status={drop.status} />,
          <Time at={drop.starts_at} />,
          drop.ends_at === null ? "Never: the values stay" : <Time at={drop.ends_at} />,
          <Changes drop={drop} stores={stores} />
        ]
      }))}
    />
  )

/** Whether a drop is scheduled, being applied, or waits for its end. */
const isAhead = ({ ends_at, status }: Drop) =>
  status === "scheduled" || status === "applying" || (status === "applied" && ends_at !== null)

export const DropsPage = ({
  drops,
  stores,
  visitor
}: {
  readonly visitor: Visitor
  readonly drops: ReadonlyArray<Drop>
  readonly stores: ReadonlyArray<Store>
}) => (
  <Frame title="Drops" visitor={visitor} current={paths.drops}>
    <p>
      A drop changes fields at a time that you choose, and can restore them at another. It is published to your stores
      automatically.
    </p>
    <p>
      <Allowed to="publish">
        <a href={paths.newDrop} class="button">
          Schedule a drop
        </a>
      </Allowed>
    </p>
    <Live id="drops" on={["drop"]} says={drops.filter(isAhead).map(statusSentence).join(" ")}>
      <section aria-labelledby="ahead">
        <h2 id="ahead">Scheduled and running</h2>
        <DropTable name="Scheduled and running drops" drops={drops.filter(isAhead)} stores={stores} />
      </section>
      <section aria-labelledby="over">
        <h2 id="over">Ended</h2>
        <DropTable name="Ended drops" drops={drops.filter((drop) => !isAhead(drop)).reverse()} stores={stores} />
      </section>
    </Live>
  </Frame>
)
