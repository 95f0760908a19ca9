import type { ScanProgress } from "../../health/HealthRepo.ts"
import type { Store } from "../../model/Store.ts"
import type { Words } from "../languages/Words.tsx"
import { withTimeLeft } from "../TimeLeft.ts"
import { useWords } from "../Viewer.tsx"
import { StoreName } from "../Wording.tsx"
import { dimensionWords } from "./HealthWords.ts"

/** A scan without a step for so many seconds is taken for interrupted. A step takes a few seconds. */
const maxIdleSeconds = 60

const isUnderWay = ({ idleSeconds }: ScanProgress) => idleSeconds < maxIdleSeconds

const nameOf = (t: Words, { dimension }: ScanProgress) => t(dimensionWords[dimension].name)

const textOf = (t: Words, scan: ScanProgress): string => {
  const { entities, scanned, seconds } = scan
  const all = Math.max(entities, scanned)
  const words = { dimension: nameOf(t, scan), done: scanned, all }
  return isUnderWay(scan)
    ? withTimeLeft(t, t("Scanning {dimension}: {done, number} of {all, plural, one {# item} other {# items}}", words), {
        done: scanned,
        total: all,
        seconds
      })
    : t(
        "The scan of {dimension} was interrupted at {done, number} of {all, plural, one {# item} other {# items}}. The next scan continues there.",
        words
      )
}

/** The full scans that are not finished: how far they are, and the time left. */
export const ScansUnderWay = ({
  scans,
  stores
}: {
  readonly scans: ReadonlyArray<ScanProgress>
  readonly stores: ReadonlyArray<Store>
}) => {
  const t = useWords()
  return scans.map((scan) => (
    <p key={`${scan.dimension} ${scan.storeId}`}>
      {isUnderWay(scan) && (
        <>
          <progress
            max={Math.max(scan.entities, scan.scanned, 1)}
            value={scan.scanned}
            aria-label={t("Progress of the scan of {dimension}", { dimension: nameOf(t, scan) })}
          />{" "}
        </>
      )}
      {textOf(t, scan)}
      {scan.storeId !== null && (
        <>
          {" "}
          (<StoreName id={scan.storeId} stores={stores} />)
        </>
      )}
    </p>
  ))
}

/** A sentence for screen readers. It changes with each tenth of a scan. Undefined: nothing is scanned. */
export const scansSentence = (t: Words, scans: ReadonlyArray<ScanProgress>): string | undefined => {
  const sentences = scans.filter(isUnderWay).map((scan) =>
    t("Scanning {dimension}: {percent, number} %.", {
      dimension: nameOf(t, scan),
      percent: Math.floor((10 * scan.scanned) / Math.max(scan.entities, scan.scanned, 1)) * 10
    })
  )
  return sentences.length === 0 ? undefined : sentences.join(" ")
}
