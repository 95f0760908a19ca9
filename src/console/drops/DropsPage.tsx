import type { DropChange, DropPlace, DropRow } from "../../drops/Drop.ts"
import type { Store } from "../../model/Store.ts"
import type { Visitor } from "../Browser.ts"
import { Frame } from "../Frame.tsx"
import { Live } from "../Live.tsx"
import type { Sentence } from "../languages/Words.tsx"
import { dropPath, paths } from "../Paths.ts"
import { Table } from "../Table.tsx"
import { Allowed, useWords } from "../Viewer.tsx"
import { StoreName, Text } from "../Wording.tsx"
import { DropCalendar } from "./DropCalendar.tsx"
import { changesIn, DropTime, NoEnd, Status, statusSentence } from "./DropWords.tsx"

export const Where = ({ change, stores }: { readonly change: DropChange; readonly stores: ReadonlyArray<Store> }) => {
  const t = useWords()
  return change.store_id === null ? (
    <span>{t("all stores of the item")}</span>
  ) : (
    <StoreName id={change.store_id} stores={stores} />
  )
}

type DropsView = "calendar" | "open" | "ended"
const tabs: Readonly<Record<DropsView, Sentence>> = {
  calendar: "Calendar",
  open: "Scheduled and running",
  ended: "Ended"
}

/** `after`: the place after which the page begins. */
const dropsPath = (view: DropsView, after?: DropPlace): string => {
  const query = new URLSearchParams({
    ...(view !== "calendar" && { view }),
    ...(after !== undefined && { after: `${after.starts_at} ${after.id}` })
  })
  return query.size === 0 ? paths.drops : `${paths.drops}?${query}`
}

const DropTable = ({ drops, name }: { readonly name: string; readonly drops: ReadonlyArray<DropRow> }) => {
  const t = useWords()
  return (
    <Table
      name={name}
      columns={[t("Drop"), t("State"), t("Starts"), t("Ends"), t("Changes")]}
      rows={drops.map((drop) => ({
        key: drop.id,
        cells: [
          <a href={dropPath(drop.id)}>
            <Text>{drop.name}</Text>
          </a>,
          <Status status={drop.status} />,
          <DropTime at={drop.starts_at} timezone={drop.timezone} />,
          drop.ends_at === null ? <NoEnd /> : <DropTime at={drop.ends_at} timezone={drop.timezone} />,
          changesIn(t, drop)
        ]
      }))}
    />
  )
}

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

const List = ({ drops, isFirst, next, view }: Exclude<DropsContent, { readonly view: "calendar" }>) => {
  const t = useWords()
  return (
    <>
      {drops.length === 0 ? (
        <p class="quiet">
          {!isFirst
            ? t("There are no more drops.")
            : view === "open"
              ? t("No drop is scheduled or running.")
              : t("No drop has ended.")}
        </p>
      ) : (
        <DropTable name={t(tabs[view])} drops={drops} />
      )}
      <nav class="pages" aria-label={t("Pages of drops")}>
        {!isFirst && <a href={dropsPath(view)}>{t("First page")}</a>}
        {next !== undefined && <a href={dropsPath(view, next)}>{t("Next page")}</a>}
      </nav>
    </>
  )
}

export const DropsPage = ({ content, visitor }: { readonly visitor: Visitor; readonly content: DropsContent }) => {
  const t = useWords()
  return (
    <Frame
      title={t("Drops")}
      visitor={visitor}
      current={paths.drops}
      actions={
        <Allowed to="publish">
          <a href={paths.newDrop} class="button">
            {t("Schedule a drop")}
          </a>
        </Allowed>
      }
    >
      <nav class="tabs" aria-label={t("Views of drops")}>
        {(["calendar", "open", "ended"] as const).map((view) => (
          <a key={view} href={dropsPath(view)} aria-current={view === content.view ? "page" : undefined}>
            {t(tabs[view])}
          </a>
        ))}
      </nav>
      <Live
        id="drops"
        on={["drop"]}
        says={content.drops
          .filter(({ isOpen }) => isOpen)
          .map((each) => statusSentence(t, each))
          .join(" ")}
      >
        {content.view === "calendar" ? <DropCalendar {...content} /> : <List {...content} />}
      </Live>
    </Frame>
  )
}
