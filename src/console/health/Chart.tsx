import type { ComponentChildren } from "preact"
import { useWords } from "../Viewer.tsx"

export type Tone = "good" | "wait" | "bad"

/** A bar for a share from 0 to 1. `says`: the text for screen readers. */
export const Bar = ({ says, share, tone }: { readonly share: number; readonly tone: Tone; readonly says: string }) => (
  <svg class={`bar ${tone}`} viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={says}>
    <Drawn share={share} />
  </svg>
)

const Drawn = ({ share }: { readonly share: number }) => (
  <>
    <rect class="rail" width="100" height="10" />
    <rect class="part" width={Math.round(1_000 * share) / 10} height="10" />
  </>
)

/** A bar of a chart. */
export interface Line {
  readonly key: string
  readonly label: ComponentChildren
  readonly value: number
  /** The value of a full bar; by default the largest value of the chart. */
  readonly of?: number
}

/** A bar chart with numbers. Screen readers read it as a table. */
export const Chart = ({
  lines,
  name,
  labelled,
  valued
}: {
  readonly name: string
  /** Column headers of the table, for the labels and for the values. */
  readonly labelled: string
  readonly valued: string
  readonly lines: ReadonlyArray<Line>
}) => {
  const t = useWords()
  const max = Math.max(1, ...lines.map(({ value }) => value))
  return (
    <table class="chart">
      <caption class="spoken">{name}</caption>
      <thead class="spoken">
        <tr>
          <th scope="col">{labelled}</th>
          <th scope="col">{valued}</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(({ key, label, of, value }) => (
          <tr key={key}>
            <th scope="row">{label}</th>
            <td class="number">
              {of === undefined ? t.number(value) : t("{done, number} of {all, number}", { done: value, all: of })}
            </td>
            <td class="drawn" aria-hidden="true">
              <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
                <Drawn share={value / (of === undefined ? max : Math.max(1, of))} />
              </svg>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Days that a trend shows. */
const trendDays = 90
const dayMillis = 86_400_000

/** The last scores by day as a line, and as a table. `points`: oldest first; the line is flat between two points. */
export const Trend = ({
  name,
  points
}: {
  readonly name: string
  readonly points: ReadonlyArray<{ readonly day: string; readonly score: number }>
}) => {
  const t = useWords()
  const [first, ...others] = points.slice(-trendDays)
  const last = others.at(-1)
  if (first === undefined || last === undefined)
    return <p class="quiet">{t("The trend is shown when there are scans on two days.")}</p>
  const begin = Date.parse(first.day)
  const length = Math.max(1, (Date.parse(last.day) - begin) / dayMillis)
  const place = ({ day, score }: { readonly day: string; readonly score: number }) =>
    `${Math.round((1_000 * (Date.parse(day) - begin)) / dayMillis / length) / 10},${100 - score}`
  const difference = last.score - first.score
  return (
    <figure class="trend">
      <svg
        class="trend"
        viewBox="0 -4 100 108"
        preserveAspectRatio="none"
        role="img"
        aria-label={t("{name}: {first, number} on {from}, {last, number} on {to}", {
          name,
          first: first.score,
          from: first.day,
          last: last.score,
          to: last.day
        })}
      >
        <path class="rail" d="M0 0H100M0 50H100M0 100H100" />
        <polyline class="line" points={[first, ...others].map(place).join(" ")} />
      </svg>
      <figcaption>
        <time dateTime={first.day}>{first.day}</time>
        <span>
          {difference === 0
            ? t("No change")
            : difference > 0
              ? t("{count, plural, one {# point} other {# points}} up", { count: difference })
              : t("{count, plural, one {# point} other {# points}} down", { count: -difference })}
        </span>
        <time dateTime={last.day}>{last.day}</time>
      </figcaption>
      <details>
        <summary>{t("By day")}</summary>
        <table class="chart">
          <caption class="spoken">{t("{name} by day", { name })}</caption>
          <thead class="spoken">
            <tr>
              <th scope="col">{t("Day")}</th>
              <th scope="col">{t("Score")}</th>
            </tr>
          </thead>
          <tbody>
            {[first, ...others].reverse().map(({ day, score }) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                <td class="number">{score}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}
