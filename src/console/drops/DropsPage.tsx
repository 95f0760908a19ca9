import type { DropChange, DropPlace, DropRow } from "../../drops/Drop.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Frame } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import { english } from "../languages/Words.tsx"
import { dropPath, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed } from "../Viewer.tsx"
import { StoreName, Text } from "../Wording.tsx"
import { DropCalendar } from "./DropCalendar.tsx"
import { changesIn, DropTime, Status, statusSentence } from "./DropWords.tsx"

export const Where = ({ change, stores }: { readonly change: DropChange; readonly stores: ReadonlyArray<Store> }) =>
  change.store_id === null ? <span>all stores of the entity</span> : <StoreName id={change.store_id} stores={stores} />

const tabs = { calendar: "Calendar", open: "Scheduled and running", ended: "Ended" } as const
export type DropsView = keyof typeof tabs

/** `after`: the place after which the page begins. */
export const dropsPath = (view: DropsView, after?: DropPlace): string => {
  const query = new URLSearchParams({
    ...(view !== "calendar" && { view }),
    ...(after !== undefined && { after: `${after.starts_at} ${after.id}` })
  })
  return query.size === 0 ? paths.drops : `${paths.drops}?${query}`
}

const DropTable = ({ drops, name }: { readonly name: string; readonly drops: ReadonlyArray<DropRow> }) => (
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
        <DropTime at={drop.starts_at} timezone={drop.timezone} />,
        drop.ends_at === null ? (
          <span class="quiet">Never: the values stay</span>
        ) : (
          <DropTime at={drop.ends_at} timezone={drop.timezone} />
        ),
        changesIn(english, drop)
      ]
    }))}
  />
)

/** A month, or a page of a list. */
export type DropsContent =
  | {
      readonly view: "calendar"
      readonly month: string
      readonly today: string
      readonly drops: ReadonlyArray<DropRow>
      readonly isCut: boolean
    }
  | {
      readonly view: "open" | "ended"
      readonly drops: ReadonlyArray<DropRow>
      readonly isFirst: boolean
      readonly next: DropPlace | undefined
    }

const List = ({ drops, isFirst, next, view }: Exclude<DropsContent, { readonly view: "calendar" }>) => (
  <>
    {drops.length === 0 ? (
      <p class="quiet">
        {!isFirst
          ? "There are no more drops."
          : view === "open"
            ? "No drop is scheduled or running."
            : "No drop has ended."}
      </p>
    ) : (
      <DropTable name={tabs[view]} drops={drops} />
    )}
    <nav class="pages" aria-label="Pages of drops">
      {!isFirst && <a href={dropsPath(view)}>First page</a>}
      {next !== undefined && <a href={dropsPath(view, next)}>Next page</a>}
    </nav>
  </>
)

export const DropsPage = ({ content, visitor }: { readonly visitor: Visitor; readonly content: DropsContent }) => (
  <Frame
    title="Drops"
    visitor={visitor}
    current={paths.drops}
    actions={
      <Allowed to="publish">
        <a href={paths.newDrop} class="button">
          Schedule a drop
        </a>
      </Allowed>
    }
  >
    <nav class="tabs" aria-label="Views of drops">
      {(["calendar", "open", "ended"] as const).map((view) => (
        <a key={view} href={dropsPath(view)} aria-current={view === content.view ? "page" : undefined}>
          {tabs[view]}
        </a>
      ))}
    </nav>
    <Live
      id="drops"
      on={["drop"]}
      says={content.drops
        .filter(({ isOpen }) => isOpen)
        .map((each) => statusSentence(english, each))
        .join(" ")}
    >
      {content.view === "calendar" ? <DropCalendar {...content} /> : <List {...content} />}
    </Live>
  </Frame>
)
