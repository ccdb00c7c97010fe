package data

import (
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
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

// numberedParts are names of parts that are told apart by numbers.
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
