package eval
import ("testing";"image";"image/color";xdraw "golang.org/x/image/draw")
type rgb struct{}
func (rgb) ColorModel() color.Model {return color.RGBAModel}
func (rgb) Bounds() image.Rectangle {return image.Rect(0,0,32,32)}
func (rgb) At(x,y int) color.Color { return color.RGBA{200,100,50,255}}
func TestZ(t *testing.T){
 g:=&gridImage{}; g.RGBA=image.NewRGBA(image.Rect(0,0,100,100))
 xdraw.ApproxBiLinear.Scale(g, image.Rect(10,10,90,90), rgb{}, rgb{}.Bounds(), xdraw.Over, nil)
 t.Log(g.At(50,50))
 d:=image.NewRGBA(image.Rect(0,0,100,100))
 xdraw.ApproxBiLinear.Scale(d, image.Rect(10,10,90,90), rgb{}, rgb{}.Bounds(), xdraw.Over, nil)
 t.Log(d.At(50,50))
 xdraw.ApproxBiLinear.Scale(d, image.Rect(10,10,90,90), rgb{}, rgb{}.Bounds(), xdraw.Src, nil)
 t.Log(d.At(50,50))
 xdraw.CatmullRom.Scale(g, image.Rect(10,10,90,90), rgb{}, rgb{}.Bounds(), xdraw.Over, nil)
 t.Log(g.At(50,50))
 s:=image.NewRGBA(image.Rect(0,0,32,32)); xdraw.Draw(s,s.Bounds(),rgb{},image.Point{},xdraw.Src)
 g.RGBA=image.NewRGBA(image.Rect(0,0,100,100))
 xdraw.ApproxBiLinear.Scale(g, image.Rect(10,10,90,90), s, s.Bounds(), xdraw.Over, nil)
 t.Log(g.At(50,50))
}
