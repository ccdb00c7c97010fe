package data

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/vernier-ml/vernier/data/internal/natural"
	"github.com/vernier-ml/vernier/internal/nametext"
)

// partKind is what a folder's name says of the images below it.
type partKind uint8

const (
	noPart partKind = iota
	forTraining
	forValidation
	forTesting
	forQueries
	forGallery
	// forAny is one of several numbered parts of which none is for testing by its
	// name: fold1, fold2.
	forAny
	// withoutLabels is a part whose images belong to no class that is known.
	withoutLabels
)

// partWords are the names of parts, in small letters without accents, in the
// languages of people who publish sets.
var partWords = func() map[string]partKind {
	words := map[string]partKind{}
	for kind, names := range map[partKind]string{
		forTraining: `train training trainings trainingen trn trainval labeled labelled treino treinamento treinar entrenamiento entreno
			entrainement apprentissage addestramento allenamento trening traning opplaering koulutus egitim latih pelatihan
			обучение обучающая тренировка тренировочная 训练 訓練 学習 训练数据 학습 훈련 تدريب`,
		forValidation: `val valid validation validate dev develop development validacao validacion validazione validierung validierungs
			validering walidacja dogrulama validasi валидация валидационная проверка 验证 驗證 検証 검증`,
		forTesting: `test tests testing tst eval evaluation holdout heldout teste testes prueba pruebas testen essai
			prova testowy testowe uji тест тестовая тестирование 测试 測試 テスト 테스트 시험 اختبار`,
		forQueries:    "query queries probe probes",
		forGallery:    "gallery galleries database reference references distractors",
		withoutLabels: "unlabeled unlabelled unlabel nolabel nolabels unsupervised unsup",
	} {
		for name := range strings.FieldsSeq(names) {
			words[norm.NFC.String(plainLetters(name))] = kind
		}
	}
	return words
}()

// numberedParts are names of parts that differ in a number: fold1, fold2.
var numberedParts = wordSet("fold kfold cv split partition shard chunk subset falte pliegue dobra")

// partFiller are words that say nothing about which part it is.
var partFiller = wordSet("set images image imgs img data seg folder dataset all 集 データ 用")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// plainLetters is a name in small letters and without accents.
func plainLetters(name string) string {
	plain, _, err := transform.String(transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC), strings.ToLower(name))
	if err != nil { // which none of these returns
		return strings.ToLower(name)
	}
	return plain
}

// partKindOf knows the names of the parts that classification and retrieval sets are
// published in: train, Test, training_set, val2017, seg_test, treino, fold1.
func partKindOf(folder string) partKind {
	words := strings.FieldsFunc(plainLetters(folder), func(r rune) bool { return !unicode.IsLetter(r) })
	kind, numbered := noPart, false
	for _, w := range words {
		for _, end := range []string{"set", "data", "images", "daten", "bilder", "satz", "menge", "集", "データ", "用"} {
			if short := strings.TrimSuffix(w, plainLetters(end)); short != "" && partWords[w] == noPart && !numberedParts[w] {
				w = short
			}
		}
		k := partWords[w]
		switch {
		case k != noPart && kind == noPart:
			kind = k
		case numberedParts[w]:
			numbered = true
		case partFiller[w] || len(w) == 1:
		default:
			return noPart
		}
	}
	if kind == noPart && numbered && strings.ContainsFunc(folder, unicode.IsDigit) {
		return forAny
	}
	return kind
}

// maxNumberedFolders is up to how many folders with the same numbered classes may be
// parts of one set. Where there are more, as the alphabets of Omniglot with
// character01 and so on, the numbers mean other things in each.
const maxNumberedFolders = 10

// repeatedNames says that several folders hold classes of mostly the same names, as
// parts do whose own names findParts does not know; it is empty if none do. Each class of
// one of them then has images of the same thing in another class.
func repeatedNames(classes []string) string {
	parents := map[string]bool{}
	under := map[string]int{} // how many parents have a class of that name
	example := ""
	for _, c := range classes {
		if !strings.Contains(c, "/") {
			continue
		}
		parents[path.Dir(c)] = true
		name := foldName(path.Base(c))
		under[name]++
		if under[name] == 2 && example == "" {
			example = path.Base(c)
		}
	}
	repeated, stems := 0, map[string]bool{}
	for name, n := range under {
		if n > 1 {
			repeated++
			stems[strings.TrimFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })] = true
		}
	}
	if len(parents) < 2 || len(parents) > maxNumberedFolders && len(stems) == 1 || repeated < 2 || 2*repeated < len(under) {
		return ""
	}
	return fmt.Sprintf("folders %s hold classes of the same names, as %s: each is a class of its own here, and an image of the other one counts as wrong; if they are parts of one set, give one of them, or bring the images of a class into one folder",
		nametext.Few(natural.Sorted(slices.Collect(maps.Keys(parents)))), nametext.Show(example))
}

// partsInNames says that names of classes differ only in the name of a part, as in
// robin_train and robin_test; it is empty if most do not.
func partsInNames(classes []string) string {
	first, repeated, example := map[string]string{}, map[string]bool{}, ""
	kinds := map[string]partKind{}
	for _, c := range classes {
		kind, rest := noPart, []string(nil)
		for _, w := range strings.FieldsFunc(plainLetters(c), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if k := partWords[w]; k != noPart && kind == noPart {
				kind = k
			} else {
				rest = append(rest, w)
			}
		}
		key := strings.Join(rest, " ")
		was, ok := first[key]
		switch {
		case !ok:
			first[key], kinds[key] = c, kind
		case kind != kinds[key] && len(rest) > 0:
			repeated[key] = true
			if example == "" {
				example = nametext.Show(was) + " and " + nametext.Show(c)
			}
		}
	}
	if len(repeated) < 2 || 2*len(repeated) < len(first) {
		return ""
	}
	return fmt.Sprintf("names of classes differ only in the name of a part, as %s: each is a class of its own here, and an image of the other one counts as wrong; bring the images of a class into one folder", example)
}
