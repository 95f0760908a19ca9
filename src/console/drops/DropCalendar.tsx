import { boundsOf, daysOf, linesOf, type Slot, shiftMonth, weeksOf } from "../../drops/Calendar.ts"
import type { DropRow } from "../../drops/Drop.ts"
import { Icon } from "../Icon.tsx"
import type { Words } from "../languages/Words.tsx"
import { dropPath, paths } from "../Paths.ts"
import { useWords } from "../Viewer.tsx"
import { Text } from "../Wording.tsx"
import { dayWords, monthWords, Status, statusOf, timeOfDay, weekdayWords } from "./DropWords.tsx"

const monthPath = (month: string): string => `${paths.drops}?${new URLSearchParams({ month })}`

interface Entry {
  readonly drop: DropRow
  readonly first: string
  readonly last: string
}

/** The days of a drop in words, such as `from Sat 5 December, 00:00 to Mon 7 December, 00:00`. */
const timesOf = (t: Words, { drop: { ends_at, starts_at, timezone }, first, last }: Entry) => {
  const start = timeOfDay(t, starts_at, timezone)
  if (ends_at === null) return t("from {day}, {start}; the values stay", { day: dayWords(t, first), start })
  const end = timeOfDay(t, ends_at, timezone)
  // An end at midnight is the end of the last day.
  const until = end === "00:00" ? "24:00" : end
  return first === last
    ? t("{day}, {start} to {end}", { day: dayWords(t, first), start, end: until })
    : t("{first}, {start} to {last}, {end}", { first: dayWords(t, first), start, last: dayWords(t, last), end: until })
}

const Bar = ({ slot: { continues, isContinued, item } }: { readonly slot: Slot<Entry> }) => {
  const t = useWords()
  if (item === undefined) return null
  const { name, tone } = statusOf(item.drop.status)
  const classes = ["bar", tone, ...(isContinued ? ["continued"] : []), ...(continues ? ["continues"] : [])]
  return (
    <a class={classes.join(" ")} href={dropPath(item.drop.id)}>
      <Text>{item.drop.name}</Text>
      <span class={`state ${tone}`}>{t(name)}</span>
      <span class="spoken">{timesOf(t, item)}</span>
    </a>
  )
}

/** The month as a table. Each week has a row of days, and below it as many rows of drops as overlapping drops need. */
const Grid = ({
  entries,
  month,
  today,
  weeks
}: {
  readonly month: string
  readonly today: string
  readonly weeks: ReadonlyArray<ReadonlyArray<string>>
  readonly entries: ReadonlyArray<Entry>
}) => {
  const t = useWords()
  const shortDays = weekdayWords(t, "short")
  return (
    <table class="sheet month">
      <caption class="spoken">{t("Drops in {month}", { month: monthWords(t, month) })}</caption>
      <thead>
        <tr>
          {weekdayWords(t, "long").map((day, index) => (
            <th key={day} scope="col">
              <abbr title={day}>{shortDays[index]}</abbr>
            </th>
          ))}
        </tr>
      </thead>
      {weeks.map((week) => (
        <tbody key={week[0]}>
          <tr class="days">
            {week.map((day) => (
              <td
                key={day}
                class={day.startsWith(month) ? undefined : "outside"}
                aria-current={day === today ? "date" : undefined}
              >
                <time dateTime={day}>{Number(day.slice(8))}</time>
                {day === today && <span class="today">{t("Today")}</span>}
              </td>
            ))}
          </tr>
          {linesOf(week, entries).map((line, index) => (
            <tr key={`${week[0]} ${index}`}>
              {line.map((slot, place) => (
                <td key={`${index} ${place}`} colSpan={slot.days}>
                  <Bar slot={slot} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      ))}
    </table>
  )
}

/** The drops of the month by the day on which they start, or by the first of the month. */
const Agenda = ({
  entries,
  month,
  today
}: {
  readonly month: string
  readonly today: string
  readonly entries: ReadonlyArray<Entry>
}) => {
  const t = useWords()
  const firstOf = ({ first }: Entry) => (first < `${month}-01` ? `${month}-01` : first)
  const own = entries.filter(({ first, last }) => first.slice(0, 7) <= month && last.slice(0, 7) >= month)
  const days = [...new Set([...own.map(firstOf), ...(today.startsWith(month) ? [today] : [])])].sort()
  return (
    <div class="agenda">
      {days.map((day) => {
        const starting = own.filter((entry) => firstOf(entry) === day)
        return (
          <section key={day} aria-labelledby={`day-${day}`}>
            <h3 id={`day-${day}`} aria-current={day === today ? "date" : undefined}>
              <time dateTime={day}>{dayWords(t, day)}</time>
              {day === today && <span class="today">{t("Today")}</span>}
            </h3>
            {starting.length === 0 ? (
              <p class="quiet">{t("No drop starts.")}</p>
            ) : (
              <ul class="sheet">
                {starting.map((entry) => (
                  <li key={entry.drop.id}>
                    <a href={dropPath(entry.drop.id)}>
                      <Text>{entry.drop.name}</Text>
                    </a>
                    <Status status={entry.drop.status} />
                    <span class="quiet">{timesOf(t, entry)}</span>
                  </li>
                ))}
              </ul>
            )}
          </section>
        )
      })}
    </div>
  )
}

/** A month of drops. Each drop is shown on the days of its own time zone. On a narrow screen it is a list by day. */
export const DropCalendar = ({
  drops,
  isCut,
  month,
  today
}: {
  readonly drops: ReadonlyArray<DropRow>
  /** Whether there are more drops than these. */
  readonly isCut: boolean
  readonly month: string
  /** The visitor's day. */
  readonly today: string
}) => {
  const t = useWords()
  const weeks = weeksOf(month)
  const entries = drops.map((drop): Entry => ({ drop, ...daysOf(drop) }))
  const [previous, next, current] = [shiftMonth(month, -1), shiftMonth(month, 1), today.slice(0, 7)]
  return (
    <>
      <nav class="months" aria-label={t("Months")}>
        <h2 id="month">{monthWords(t, month)}</h2>
        <a
          class="button plain icon-only"
          href={monthPath(previous)}
          aria-label={t("Previous month: {month}", { month: monthWords(t, previous) })}
        >
          <Icon name="chevron-left" />
        </a>
        <a
          class="button plain icon-only"
          href={monthPath(next)}
          aria-label={t("Next month: {month}", { month: monthWords(t, next) })}
        >
          <Icon name="chevron-right" />
        </a>
        {month !== current && (
          <a class="button plain" href={paths.drops}>
            {t("This month")}
          </a>
        )}
      </nav>
      {isCut && (
        <p class="note">
          {t("Only the first {count, number} drops of these weeks are shown. The lists have all.", {
            count: drops.length
          })}
        </p>
      )}
      <Grid month={month} today={today} weeks={weeks} entries={entries} />
      <Agenda month={month} today={today} entries={entries} />
      {!entries.some(({ first, last }) => first.slice(0, 7) <= month && last.slice(0, 7) >= month) && (
        <p class="quiet">{t("There are no drops in {month}.", { month: monthWords(t, month) })}</p>
      )}
      <p class="quiet">{t("Each drop is shown on the days of its own time zone.")}</p>
    </>
  )
}

/** The first and the last instant of the weeks that a month's calendar shows, in milliseconds. */
export const boundsOfMonth = (month: string) => boundsOf(weeksOf(month))
